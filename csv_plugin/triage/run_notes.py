"""Notes about forecasts of pretraining runs at parts of their training."""
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Optional

from csv_plugin.triage.checkpoints import Checkpoint


class RunNote(NamedTuple):
    """Something about the forecast of a run.

    Args:
        run (str): The run.
        part (Optional[float]): Part of its training that was to be known;
            None if that does not matter.
        text (str): A main clause that ends the sentence of `as_sentences`.
    """
    run: str
    part: Optional[float]
    text: str


def without_early(names: Sequence[str],
                  what: str,
                  checkpoint: str = 'checkpoint') -> str:
    """The clause that earlier runs are left out of a forecast.

    Args:
        names (Sequence[str]): Runs that begin too late.
        what (str): What the forecast is made from.
        checkpoint (str): What they would have to have as early.
    """
    return (f'the {what} of {", ".join(names)} do not count, for want of a '
            f'{checkpoint} as early.')


def not_begun(described: Iterable[Checkpoint],
              begun: Iterable[str]) -> list[RunNote]:
    """Notes on runs whose only checkpoint is that before the first step.

    Args:
        described (Iterable[Checkpoint]): Those of all runs to forecast.
        begun (Iterable[str]): The runs that have others.
    """
    runs = {checkpoint.run for checkpoint in described} - {*begun}
    return [
        RunNote(run, 0.0, 'nothing is forecast, for want of a checkpoint yet.')
        for run in sorted(runs)
    ]


def as_sentences(notes: Sequence[RunNote]) -> list[str]:
    """A sentence for each part and text, which names all of its runs."""
    runs: dict[tuple[Optional[float], str], list[str]] = {}
    for note in notes:
        runs.setdefault((note.part, note.text), []).append(note.run)
    return [
        f'{_begin(part)} {", ".join(dict.fromkeys(names))}, {text}'
        for (part, text), names in runs.items()
    ]


def _begin(part: Optional[float]) -> str:
    if part is None:
        return 'For'
    return f'After {100 * part:.3g} % of the training of'
