"""Whether two versions of the project give the same results.

    python -m tools.same_results record --root /path/to/before --out A
    python -m tools.same_results record --root . --out B
    python -m tools.same_results compare A B

`record` runs the tools of a checkout (about 20 minutes on two cores) and keeps
what they write: predictions on real models' losses (../shared/real, where it
is there), trainings on the zoo of the demonstration by both methods, the
shipped predictors' predictions of all its checkpoints, the tables of
docs/results.md, and the leaderboard of the main job. `compare` holds every
number of both folders against the other.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Optional

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

REAL = '../shared/real'
DEMO = 'csv_plugin/demo'
ZOO = [
    '--collection', f'{DEMO}/collection', '--scoring-lm',
    f'{DEMO}/zoo/a/l/100', '--tokenizer', f'{DEMO}/zoo/a/tokenizer'
]
TABLES = [
    word for name in ('losses', 'scores', 'models', 'benchmarks')
    for word in (f'--{name}', f'{REAL}/{name}.csv')
]
TRIAGE = ['triage', '--dumps']
#: Verb, or study, and options by the name of the folder that they write to.
CALLS: dict[str, list[str]] = {
    'real_ridge': ['fit', *TABLES, '--solver', 'ridge'],
    'real_averaged': ['fit', *TABLES],
    'real_auto': ['fit', *TABLES, '--solver', 'auto'],
    'real_uniform': ['fit', *TABLES, '--solver', 'uniform'],
    'real_families': [
        'fit', *TABLES, '--leave-family-out', '--fit', 'train',
        'val', 'test', '--predict', 'test'
    ],
    'zoo_exact': ['train', *ZOO],
    'zoo_paper': ['train', *ZOO, '--method', 'paper', '--steps', '40'],
    'shipped': [*TRIAGE, f'{DEMO}/collection', '--predictor',
                f'{DEMO}/predictor.safetensors'],
    'shipped_mean_loss': [*TRIAGE, f'{DEMO}/collection', '--predictor',
                          f'{DEMO}/predictor_mean_loss.safetensors'],
    'triage': [
        *TRIAGE, f'{DEMO}/collection/[ad]-l@[123]?.safetensors', '--history',
        f'{DEMO}/collection/[bc]-*.safetensors', '--predictor',
        f'{DEMO}/predictor.safetensors'
    ],
    'study_texts': ['study_texts'],
    'study_demo_zoo': ['study_demo_zoo'],
    'study_triage': ['study_triage'],
}  # yapf: disable
SALIENCE = 'import sys; from csv_plugin.cli.salience import main; ' \
    'sys.exit(main())'
#: Those that print their tables instead.
PRINTED = ('study_texts', 'study_demo_zoo', 'study_triage')
#: Files with results.
SUFFIXES = '.csv', '.json', '.md', '.txt', '.safetensors'
NUMBER = re.compile(r'(?<![\w.])-?\d+\.?\d*(?:[eE][-+]?\d+)?')


def record(root: Path, out: Path, names: list[str]) -> None:
    """Run everything in a checkout, keep what it writes."""
    environment = {
        **os.environ, 'PYTHONPATH': str(root),
        'OMP_NUM_THREADS': '1'
    }
    for name in names or [*CALLS, 'main_job']:
        if name.startswith('real') and not (root / REAL).exists():
            print(f'{name}: skipped, {REAL} is missing')
            continue
        folder = out / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        start = time.monotonic()
        command = _command(name, folder.resolve())
        done = subprocess.run(command, cwd=root, env=environment, text=True,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)  # yapf: disable
        if done.returncode:
            sys.exit(f'{name}: {done.stderr[-2000:]}')
        if name in PRINTED:
            (folder / 'printed.txt').write_text(done.stdout, 'utf-8')
        for part in ('collection', 'pictures'):
            path = folder / part
            shutil.rmtree(path) if path.is_dir() else path.unlink(
                missing_ok=True)
        print(f'{name}: {time.monotonic() - start:.0f} s', flush=True)


def _command(name: str, folder: Path) -> list[str]:
    if name == 'main_job':
        opencompass = Path(sys.executable).with_name('opencompass')
        return [
            str(opencompass), 'configs/eval_csv.py', '--work-dir',
            str(folder)
        ]
    tool, *options = CALLS[name]
    start = (['-m', f'tools.studies.{tool}']
             if tool.startswith('study_') else ['-c', SALIENCE, tool])
    command = [sys.executable, *start, *options]
    return command if name in PRINTED else [*command, '--out', str(folder)]


def compare(first: Path, second: Path, tolerance: float = 1e-9) -> int:
    """Print the largest difference of every file of the first folder.

    Returns:
        int: 1 if there is nothing to compare, a file is missing in the second
        folder or has other words, or a number `x` differs by more than
        `tolerance max(1, |x|)`; else 0.
    """
    n_files = n_failed = 0
    for path in sorted(first.rglob('*')):
        name = _same_name(path.relative_to(first))
        if path.suffix not in SUFFIXES or name is None:
            continue
        n_files += 1
        partner = next(
            iter(sorted(second.glob(name.replace('[', '[[]')))), None)
        worst = np.inf if partner is None else _difference(
            *_read(path), *_read(partner))
        n_failed += not worst <= tolerance
        print(f'{name}: largest difference {worst:.1e}')
    print(f'{n_files} files, {n_failed} of them differ')
    return int(n_failed > 0 or not n_files)


def _same_name(path: Path) -> Optional[str]:
    """The path without the time stamps of a run; None for its by-products."""
    if path.parts[0] == 'main_job' and not path.name.startswith('leaderboard'):
        return None
    return re.sub(r'\d{8}_\d{6}', '*', str(path))


def _read(path: Path) -> tuple[list[str], NDArray]:
    """The words and the numbers of a file; of Markdown, those of tables."""
    if path.suffix == '.safetensors':
        arrays = load_file(path)
        return list(arrays), np.concatenate(
            [array.ravel().astype(float) for array in arrays.values()])
    text = path.read_text('utf-8')
    if path.suffix in ('.md', '.txt'):
        text = '\n'.join(line for line in text.splitlines()
                         if line.count('|') > 2)
    # The widths of tables depend on their numbers.
    words = [re.sub(r'[\s-]+', ' ', part) for part in NUMBER.split(text)]
    return words, np.array(NUMBER.findall(text), float)


def _difference(words: list[str], numbers: NDArray, others: list[str],
                same: NDArray) -> float:
    """The largest, relative above 1; infinite if there are other words."""
    if words != others or numbers.shape != same.shape:
        return np.inf
    is_nan = np.isnan(numbers) & np.isnan(same)
    apart = np.abs(numbers - same) / np.maximum(1, np.abs(numbers))
    return float(np.max(apart[~is_nan & (numbers != same)], initial=0))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    verbs = parser.add_subparsers(dest='verb', required=True)
    recording = verbs.add_parser('record')
    recording.add_argument('--root', type=Path, required=True)
    recording.add_argument('--out', type=Path, required=True)
    recording.add_argument('names', nargs='*', help='some of the results')
    comparing = verbs.add_parser('compare')
    comparing.add_argument('first', type=Path)
    comparing.add_argument('second', type=Path)
    comparing.add_argument('--tolerance', type=float, default=1e-9,
                           help='largest difference that counts as none; '
                           '1e-6 after a change of a solver')  # yapf: disable
    args = parser.parse_args()
    if args.verb == 'compare':
        sys.exit(compare(args.first, args.second, args.tolerance))
    record(args.root.resolve(), args.out, args.names)


if __name__ == '__main__':
    main()
