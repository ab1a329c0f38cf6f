"""What a run of OpenCompass lacks of what it was to do."""
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from csv_plugin.core.conventions import InputError, Progress
from csv_plugin.io.files import FilePath
from csv_plugin.io.json_files import read_json
from csv_plugin.io.runs.run_dumps import dataset_abbr, read_run_dump
from csv_plugin.io.runs.run_plan import read_run_plan


@dataclass(frozen=True)
class Gap:
    """A benchmark or a set of texts that a model was not evaluated on.

    Args:
        model (str): Abbreviation of the model.
        dataset (str): Abbreviation of the benchmark or the texts.
        texts (bool): Whether losses on texts are lacking, and not an
            accuracy.
        reason (str): What is lacking, or what went wrong; one line.
    """
    model: str
    dataset: str
    texts: bool
    reason: str


def is_texts(dataset: str) -> bool:
    """Whether a dataset of a run is a validation set, by its name.

    >>> is_texts('salience_texts-0123456789ab'), is_texts('mmlu')
    (True, False)
    """
    return dataset.startswith(dataset_abbr(''))


def run_gaps(
        work_dir: FilePath,
        progress: Progress = iter) -> tuple[dict[str, list[str]], list[Gap]]:
    """The plan of a run, and what it lacks.

    Args:
        work_dir (FilePath): Time-stamped folder of the run.
        progress (Progress): Wraps the models.

    Returns:
        tuple[dict, list[Gap]]: Datasets by model, as in `read_run_plan`, and
        the gaps in this order. Dumps are read whole, so damage is told of.

    Raises:
        InputError: As in `read_run_plan`.
    """
    plan = read_run_plan(work_dir)
    gaps = []
    for model in progress(list(plan)):
        for dataset in plan[model]:
            texts = is_texts(dataset)
            find = _of_texts if texts else _of_benchmark
            gaps += [
                Gap(model, dataset, texts, reason)
                for reason in find(Path(work_dir), model, dataset)
            ]
    return plan, gaps


def _of_texts(work_dir: Path, model: str, dataset: str) -> Iterator[str]:
    try:
        read_run_dump(work_dir, model, dataset.rpartition('-')[2])
    except InputError as error:
        yield str(error)


def _of_benchmark(work_dir: Path, model: str, dataset: str) -> Iterator[str]:
    result = work_dir / 'results' / model / f'{dataset}.json'
    answers = work_dir / 'predictions' / model / dataset
    if result.exists():
        try:
            content = read_json(result, 'Remove it, and run again with -r.')
        except InputError as error:
            yield str(error)
        else:
            if isinstance(content, dict) and 'error' in content:
                yield f'not evaluated: {content["error"]}'
    elif Path(f'{answers}.json').exists() or Path(
            f'{answers}_0.json').exists():
        yield 'answers without an accuracy'
    else:
        yield 'not run'
