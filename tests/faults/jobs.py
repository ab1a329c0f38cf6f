"""The jobs that are killed and that fill disks, at sizes that take seconds.

Each job reads its materials, writes into a folder of its own, and is resumed
by starting it again, as the pages of the project say.
"""
import csv
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError, safe_open

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import TextSet
from csv_plugin.demo import shipped
from csv_plugin.io.collection import read_collection, write_collection
from csv_plugin.io.dumps import read_dump
from csv_plugin.io.predictors import load_predictor, save_predictor
from csv_plugin.io.tables import BenchmarkInfo
from csv_plugin.io.text_sets import read_texts
from tests import runs
from tests.oc.validation_set import invented
from tests.tables import small_tables, write_tables
from tests.triage import pretraining

ROOT = shipped.ZOO.parents[2]
#: Seconds after which a job has hung.
HUNG = 300
#: Where a job writes, below the folder in which it is started.
OUT = 'out'
#: Files that OpenCompass writes: in place, with times and paths in them.
_HOST = ('configs/', 'logs/', 'summary/summary_')


@dataclass(frozen=True)
class Job:
    """Something that takes a while and leaves files.

    Args:
        name (str): As the tables of outcomes call it.
        prepare (Callable): Writes its materials into an empty folder.
        command (Callable): Its command, from the folder of the materials
            and a variant; another variant makes other files.
        resume (tuple[str, ...]): Options of a second start.
        watches (bool): Whether it runs until it is told to stop.
    """
    name: str
    prepare: Callable[[Path], None]
    command: Callable[[Path, int], list[str]]
    resume: tuple[str, ...] = ()
    watches: bool = False


def start(job: Job,
          materials: Path,
          work: Path,
          log: Path,
          again: bool = False,
          variant: int = 0) -> subprocess.Popen[bytes]:
    """Start a job, in a group of processes of its own.

    Args:
        job (Job): What to start.
        materials (Path): What `job.prepare` has filled.
        work (Path): Folder to start it in.
        log (Path): Gets what it prints.
        again (bool): Whether it was started there before.
        variant (int): See `Job.command`.
    """
    environment = {
        **os.environ, 'OMP_NUM_THREADS': '1',
        'HF_HUB_OFFLINE': '1',
        'PYTHONPATH': str(ROOT),
        'COMPASS_DATA_CACHE': str(materials / 'cache')
    }
    command = job.command(materials, variant) + list(job.resume * again)
    with log.open('ab') as file:
        return subprocess.Popen(
            command,
            cwd=work,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True)


def finish(job: Job,
           materials: Path,
           work: Path,
           log: Path,
           again: bool = False,
           variant: int = 0) -> int:
    """Run a job to its end; its exit code."""
    shown = log.stat().st_size if log.exists() else 0
    process = start(job, materials, work, log, again, variant)
    if job.watches:
        begin = time.monotonic()
        while b'triage.json' not in log.read_bytes()[shown:]:
            if process.poll() is not None or time.monotonic() - begin > HUNG:
                process.kill()
                break
            time.sleep(.1)
        process.terminate()
    return process.wait(HUNG)


def results(work: Path) -> dict[str, bytes]:
    """The files that a job leaves for its readers, by name.

    Of an OpenCompass run, the predictions, the results and the newest
    leaderboard, without the times in their names.
    """
    root = work / OUT
    is_run = any(root.glob('*/predictions'))
    contents = {}
    for path in sorted(_files(root)):
        name = path.relative_to(root).as_posix()
        if is_run:
            _, _, name = name.partition('/')
            if name.startswith(_HOST):
                continue
            if name.startswith('summary/'):
                name = f'newest leaderboard{path.suffix}'
        # Of two folders or leaderboards, the later one counts.
        contents[name] = path.read_bytes()
    return contents


def _files(root: Path) -> Iterator[Path]:
    """Files under their final names."""
    for path in root.rglob('*'):
        hidden = any(
            part.startswith(('.', 'tmp_'))
            for part in path.relative_to(root).parts)
        if path.is_file() and not hidden:
            yield path


def temporary_files(work: Path) -> list[str]:
    """Files and folders that nobody needs once the job is finished."""
    return sorted(
        str(path.relative_to(work)) for path in work.rglob('*')
        if path.name.startswith(('.', 'tmp_')))


def torn_files(work: Path) -> tuple[list[Path], list[Path]]:
    """Files under their final names that their readers refuse.

    Returns:
        tuple: Those of the package, and the JSON files of OpenCompass.
    """
    ours, host = [], []
    for path in _files(work / OUT):
        name = path.as_posix()
        is_host = '/predictions/' in name or '/results/' in name
        if is_host and path.suffix == '.json':
            if not _is_whole(path):
                host.append(path)
        elif not any(f'/{part}' in name for part in _HOST):
            if not _is_whole(path):
                ours.append(path)
    return ours, host


def _is_whole(path: Path) -> bool:
    data = path.read_bytes()
    try:
        match path.suffix:
            case '.parquet':
                read_dump(path)
            case '.safetensors' if path.stem.startswith('states'):
                with safe_open(path, framework='numpy') as file:
                    return bool(file.keys())
            case '.safetensors':
                load_predictor(path)
            case '.json':
                json.loads(data)
            case '.jsonl':
                read_texts(path)
            case '.csv':
                rows = list(csv.reader(data.decode('utf-8').splitlines()))
                return data.endswith(b'\n') and len({*map(len, rows)}) == 1
            case '.png':
                return data.endswith(b'IEND\xaeB`\x82')
            case '.svg':
                return data.rstrip().endswith(b'</svg>')
            case '.md' | '.txt':
                return data.endswith(b'\n') or path.name.endswith('error.txt')
    except (InputError, ValueError, SafetensorError):
        return False
    return True


_CONFIG = '''
from mmengine.config import read_base

with read_base():
    from csv_plugin.configs.datasets.salience_texts import \\
        salience_texts_datasets
    from csv_plugin.configs.datasets.tidewell_exams import \\
        tidewell_exams_datasets
    from csv_plugin.configs.few_processes import eval, infer  # noqa: F401
    from csv_plugin.configs.models.tidewell_zoo import held_out_models
    from csv_plugin.configs.summarizers.predicted import summarizer


def few_questions(dataset):
    return dict(dataset, reader_cfg=dict(
        dataset['reader_cfg'], test_range='[0:8]'))


models = held_out_models[3:4]
datasets = [few_questions(dataset) for dataset in tidewell_exams_datasets[:2]]
datasets += salience_texts_datasets
# Results are evaluated in the first process: others take seconds to start.
eval['runner']['debug'] = True
work_dir = 'out'
del few_questions
'''


def _prepare_run(materials: Path) -> None:
    (materials / 'eval.py').write_text(_CONFIG, 'utf-8')


def _prepare_training(materials: Path) -> None:
    whole = read_collection(shipped.COLLECTION)
    models = [
        f'{series}-{size}@{percent}' for series in 'abcd'
        for size in ('xs', 'm') for percent in (65, 100)
    ]
    texts = TextSet(whole.texts.texts[::4])
    scenes = whole.accuracies.select(models).column('scenes')
    write_collection(materials / 'collection', texts,
                     dict(whole.losses.select(models).select_texts(texts)),
                     {model: whole.info[model]
                      for model in models}, {
                          model: {
                              'scenes': float(score)
                          }
                          for model, score in zip(models, scenes)
                      }, {'scenes': BenchmarkInfo(0.25, 240, True, '')})


def _prepare_watch(materials: Path) -> None:
    save_predictor(runs.train(), materials / 'predictor.safetensors')
    pretraining.write_runs(materials / 'old', pretraining.EARLIER)
    pretraining.write_runs(materials / 'new', pretraining.NEW, 5)


def _prepare_texts(materials: Path) -> None:
    cache = materials / 'cache'
    invented.gsm8k(cache, *[f'How many {i}?' for i in range(500)])
    invented.hellaswag(cache, 300)
    invented.bbh(cache, 40)


def _prepare_tables(materials: Path) -> None:
    tables = small_tables(n_models=40, n_units=60)
    splits = {
        model: 'test' if index % 4 == 0 else 'train'
        for index, model in enumerate(tables.models)
    }
    options = write_tables(materials, tables.only('easy', 'hard'), splits)
    (materials / 'tables').write_text('\n'.join(options), 'utf-8')


def _tool(name: str, *options: object) -> list[str]:
    return [
        sys.executable, f'{ROOT}/tools/{name}.py', '--out', OUT,
        *map(str, options)
    ]


JOBS = {
    job.name: job
    for job in (
        Job(
            'run', _prepare_run, lambda materials, variant: [
                str(Path(sys.executable).with_name('opencompass')),
                str(materials / 'eval.py')
            ], ('-r', )),
        Job(
            'training', _prepare_training, lambda materials, variant: _tool(
                'train_scoring_head', '--collection', materials / 'collection',
                '--scoring-lm', shipped.ZOO / 'd/m/65', '--tokenizer', shipped.
                ZOO / 'd/tokenizer', '--seed', variant)),
        Job('triage --watch',
            _prepare_watch,
            lambda materials, variant: _tool(
                'triage_checkpoints', '--predictor', materials /
                'predictor.safetensors', '--watch', materials / 'new',
                '--history', materials / 'old', '--interval', '0.2',
                '--budget', 100 + variant),
            watches=True),
        Job(
            'texts', _prepare_texts, lambda materials, variant: _tool(
                'build_validation_set', '--sample', 'gsm8k=100', '--sample',
                'hellaswag=100', '--sample', 'bbh=100', '--seed', variant)),
        Job(
            'tables',
            _prepare_tables,
            lambda materials, variant: _tool(
                'fit_from_tables',
                '--fit',
                'train',
                '--seed',
                variant,
                # The second predictor needs more room than the first leaves.
                '--solver',
                'averaged' if variant else 'uniform',
                *(materials / 'tables').read_text('utf-8').split('\n'))),
    )
}
