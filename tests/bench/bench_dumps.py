"""CPU time and memory of many dumps: reading them, and predicting from them.

    OMP_NUM_THREADS=1 python -m tests.bench.bench_dumps [--help]

The shipped dumps of 252 models on 250 texts, each copied under other names.
"""
import contextlib
import io
import shutil
import tempfile
from itertools import islice, product
from pathlib import Path

from csv_plugin.cli.salience import main as salience
from csv_plugin.demo import shipped
from csv_plugin.io.dumps import read_dumps
from csv_plugin.io.text_sets import read_texts
from tests.bench.common import make_parser, measure


def measured(n_dumps):
    """What predicting from dumps and reading them takes."""
    dumps = sorted(Path(shipped.COLLECTION).glob('*.safetensors'))
    texts = read_texts(shipped.TEXTS)
    with tempfile.TemporaryDirectory() as folder:
        names = product(range(-(-n_dumps // len(dumps))), dumps)
        files = [
            shutil.copy(dump, f'{folder}/{copy}-{dump.name}')
            for copy, dump in islice(names, n_dumps)
        ]
        call = ['predict', folder, '--predictor', f'{shipped.PREDICTOR}']
        with contextlib.redirect_stdout(io.StringIO()):
            predicted = measure(salience, call)
        return predicted, measure(read_dumps, files, texts)


def main():
    n_dumps = make_parser(__doc__, models=1000).parse_args().models
    for name, (_, seconds, memory) in zip(('salience predict', 'read_dumps'),
                                          measured(n_dumps)):
        print(f'{name}: {n_dumps} models, {seconds:.2f} CPU s, '
              f'{1000 * seconds / n_dumps:.1f} ms and '
              f'{memory / n_dumps:.2f} MB each')


if __name__ == '__main__':
    main()
