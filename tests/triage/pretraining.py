"""Dumps of made-up pretraining runs, for the predictor of `tests.runs`."""
from collections.abc import Mapping
from pathlib import Path

from csv_plugin.core.model_losses import DumpInfo, TokenLossDump
from csv_plugin.io.dumps import write_dump
from tests.runs import TEXTS, model_losses

STEPS = (10, 20, 35, 50, 65, 80, 100)
#: Skill at the end of the training, by run.
EARLIER = {'old-1': 1.0, 'old-2': 1.3, 'old-3': 1.6, 'old-4': 1.9}


def skill_at(step: int, final: float) -> float:
    """Rises like a power law, never below 0."""
    return max(0.0, final * (1.5 - 0.5 * (step / 100)**-0.5))


def write_checkpoint(folder: Path,
                     name: str,
                     skill: float,
                     texts=TEXTS) -> Path:
    """A dump `<name>.parquet`."""
    info = DumpInfo(texts.fingerprint, name, 'letters', 'bos 1', 'float32', 0,
                    0, {})
    path = folder / f'{name}.parquet'
    write_dump(path, TokenLossDump(info, tuple(model_losses(skill, texts))))
    return path


def write_runs(folder: Path, finals: Mapping[str, float],
               n: int = len(STEPS)) -> Path:
    """Dumps of the first n checkpoints of runs, by their final skill."""
    folder.mkdir(exist_ok=True)
    for run, final in finals.items():
        for step in STEPS[:n]:
            write_checkpoint(folder, f'{run}@{step}', skill_at(step, final))
    return folder
