"""Dumps of made-up pretraining runs, for the predictor of `tests.runs`."""
from collections.abc import Mapping
from pathlib import Path

from csv_plugin.core.model_losses import TokenLossDump
from csv_plugin.io.dumps import write_dump
from tests.runs import TEXTS, dump, model_losses

STEPS = (10, 20, 35, 50, 65, 80, 100)
#: Skill at the end of the training of earlier runs, by run.
EARLIER = {'old-1': 1.0, 'old-2': 1.3, 'old-3': 1.6, 'old-4': 1.9}
#: The same of runs to judge.
NEW = {'good': 1.8, 'bad': 1.0}


def skill_at(step: int, final: float) -> float:
    """Rises like a power law, never below 0."""
    return max(0.0, final * (1.5 - 0.5 * (step / 100)**-0.5))


def run_dumps(
    finals: Mapping[str,
                    float], n: int = len(STEPS)) -> dict[str, TokenLossDump]:
    """The first n checkpoints of runs, given the runs' final skills."""
    return {
        f'{run}@{step}': dump(f'{run}@{step}',
                              model_losses(skill_at(step, final)))
        for run, final in finals.items()
        for step in STEPS[:n]
    }


def write_checkpoint(folder: Path,
                     name: str,
                     skill: float,
                     texts=TEXTS) -> Path:
    path = folder / f'{name}.safetensors'
    write_dump(path, dump(name, model_losses(skill, texts), texts))
    return path


def write_runs(folder: Path, finals: Mapping[str, float],
               n: int = len(STEPS)) -> Path:
    """The dumps of `run_dumps` as files `<run>@<step>.safetensors`."""
    folder.mkdir(exist_ok=True)
    for name, losses in run_dumps(finals, n).items():
        write_dump(folder / f'{name}.safetensors', losses)
    return folder
