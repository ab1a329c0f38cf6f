"""Scoring chunk by chunk: a run that is killed goes on where it was."""
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Optional

from csv_plugin.core.conventions import InputError, Progress
from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.model_losses import DumpInfo, TokenLossDump
from csv_plugin.core.texts import Text
from csv_plugin.io.dumps import read_dump, write_dump

#: Number of texts that are scored together; a run that is killed loses the
#: losses of at most that many texts.
CHUNK = 32


def score_in_chunks(score: Callable[[Sequence[Text]], TokenLossDump],
                    texts: Sequence[Text],
                    folder: Path,
                    entropy: bool = False,
                    rank: bool = False,
                    progress: Progress = iter) -> TokenLossDump:
    """Score texts, but read what an interrupted run has scored.

    Args:
        score (Callable): Scores some texts by whatever engine; of no texts
            it gives what is recorded about the scoring.
        texts (Sequence[Text]): The texts to score.
        folder (Path): Gets a small dump for every chunk of texts, and is
            made with the first. Dumps of another model, engine or version,
            of other texts or with other columns are replaced, and so are
            damaged ones. The caller deletes it once the losses are safe.
        entropy (bool): Whether `score` records entropies.
        rank (bool): Whether `score` records ranks.
        progress (Progress): Wraps the chunks.

    Returns:
        TokenLossDump: Losses in nats, in the order of the texts and as
        exact as in a dump; the same to the last bit as if the run had not
        been interrupted.

    Raises:
        InputError: As in `score` and `io.dumps.write_dump`.
    """
    info = score(()).info
    n_chunks = -(-len(texts) // CHUNK)
    losses: dict[str, TokenLosses] = {}
    for chunk in progress(range(n_chunks)):
        # A sample of all texts that depends on them alone, so that chunks
        # take about the same time and never change.
        part = texts[chunk::n_chunks]
        file = folder / f'{chunk}.safetensors'
        dump = _recall(file, info, part, (entropy, rank))
        if dump is None:
            scored = score(part)
            folder.mkdir(parents=True, exist_ok=True)
            write_dump(file, scored)
            # A dump rounds losses: these must not tell new from old ones.
            dump = read_dump(file)
        losses.update({text.text_id: text for text in dump.texts})
    return TokenLossDump(info, tuple(losses[text.text_id] for text in texts))


def _recall(file: Path, info: DumpInfo, texts: Sequence[Text],
            columns: tuple[bool, bool]) -> Optional[TokenLossDump]:
    """The dump of these texts, if it was made as this run would make it."""
    try:
        dump = read_dump(file)
    except InputError:  # absent, or damaged by a crash of the machine
        return None
    recorded = [(text.text_id, text.sha256, text.entropy is not None, text.rank
                 is not None) for text in dump.texts]
    wanted = [(text.text_id, text.sha256, *columns) for text in texts]
    return dump if (dump.info, recorded) == (info, wanted) else None
