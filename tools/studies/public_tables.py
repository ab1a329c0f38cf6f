"""Tables of losses and accuracies from what others published.

    python -m tools.studies.public_tables COLLECTION CLONE --out FOLDER

reads a clone of a public repository and writes the four tables that
`salience fit` takes (docs/formats.md) into a folder; where the models are
checkpoints, models.csv is the table of `--checkpoints` too. The collections:

ladder       allenai/OLMo-ladder: 30 runs of 190 million to 3 billion
             parameters and two of 7 and 13 billion, twelve checkpoints each
             (Bhagia et al., arXiv 2412.04403)
dense_ladder the same with all 37 to 202 checkpoints of a run
overtrained  mlfoundations/scaling: 104 models of 11 million to 7 billion
             parameters, of three mixtures of texts (Gadre et al.,
             arXiv 2403.08540)
mixtures     KempnerInstitute/loss-to-loss-notebooks: 535 models of six
             mixtures of texts (Brandfonbrener et al., arXiv 2411.12925)

The split `test` is the largest models, and `validation` is, in the ladder,
the runs of 3 billion parameters.
"""
import csv
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple, Optional

import numpy as np

from csv_plugin.io.tables import write_csv
from tools.studies.options import parser_of

Row = Mapping[str, str]

#: Checkpoints that `ladder` takes of each run.
CHECKPOINTS = 12


class Benchmark(NamedTuple):
    """A benchmark's chance level and its number of items, 0 = not known."""
    chance: float
    n_items: int = 0


class Model(NamedTuple):
    """What is known about a model beside its losses and scores.

    Attributes:
        tokens (float): Number of tokens it was trained on.
        params_b (float): Parameters in billions.
        budget (float): Tokens at the end of the run.
    """
    family: str
    split: str
    params_b: float
    tokens: float
    run: str = ''
    step: int = 0
    budget: float = 0


@dataclass
class Tables:
    """Losses, accuracies and models of a collection, by model.

    Args:
        benchmarks (Mapping[str, Benchmark]): Those that `described` does not
            know, or knows otherwise.
    """
    benchmarks: Mapping[str, Benchmark] = field(default_factory=dict)
    models: dict[str, Model] = field(default_factory=dict)
    losses: dict[str, dict[str, float]] = field(default_factory=dict)
    scores: dict[str, dict[str, float]] = field(default_factory=dict)

    def add(self, name: str, model: Model, losses: dict[str, float],
            scores: dict[str, float]) -> None:
        self.models[name] = model
        self.losses[name] = losses
        self.scores[name] = scores


#: Numbers of items of splits of benchmarks. Those of MMLU are what all scores
#: are multiples of one over.
ITEMS = {
    'arc_challenge_test': 1172,
    'arc_challenge_val': 299,
    'arc_easy_test': 2376,
    'arc_easy_val': 570,
    'boolq_test': 3270,
    'boolq_val': 3270,
    'csqa_val': 1221,
    'hellaswag_test': 10042,
    'hellaswag_val': 10042,
    'mmlu_humanities_test': 4705,
    'mmlu_humanities_val': 518,
    'mmlu_other_test': 3242,
    'mmlu_other_val': 355,
    'mmlu_social_sciences_test': 3077,
    'mmlu_social_sciences_val': 337,
    'mmlu_stem_test': 3018,
    'mmlu_stem_val': 321,
    'openbookqa_test': 500,
    'openbookqa_val': 500,
    'piqa_test': 1838,
    'piqa_val': 1838,
    'sciq_test': 1000,
    'socialiqa_val': 1954,
    'winogrande_test': 1267,
    'winogrande_val': 1267,
}
#: Chance levels, of all that have not four answers.
CHANCES = {
    'boolq': 0.5,
    'csqa': 0.2,
    'piqa': 0.5,
    'socialiqa': 1 / 3,
    'winogrande': 0.5,
}


def described(name: str) -> Benchmark:
    """What is known of a benchmark such as `piqa_val`."""
    return Benchmark(
        CHANCES.get(name.rsplit('_', 1)[0], 0.25),
        ITEMS.get(name.replace('_mc_5shot', ''), 0))


def read_ladder(clone: Path,
                checkpoints: Optional[int] = CHECKPOINTS) -> Tables:
    """Losses are in nats per token, and in bits per byte of right answers."""
    folder = clone / 'src/scripts/paper/data/ladder-runs'
    tables = Tables()
    for path in sorted(folder.glob('*xC*.csv')):
        size = path.stem.split('-')[0]
        params_b = float(size[:-1]) / (1000 if size[-1] == 'M' else 1)
        split = 'validation' if size == '3B' else 'train'
        _add_run(tables, path.stem, split, params_b,
                 _spread(_rows(path), checkpoints))
    for run, params_b in [('peteish7', 7), ('peteish13', 13)]:
        rows = _rows(folder / f'{run}_eval_full.csv')
        begun = [row for row in rows if int(row['_step']) > 0]
        _add_run(tables, run, 'test', params_b, _spread(begun, checkpoints))
    return tables


def _spread(rows: list[Row], n: Optional[int]) -> list[Row]:
    """Checkpoints at equal distances and the last, or all that are trained."""
    rows = sorted(rows, key=lambda row: int(row['_step']))
    if n is None:
        return [row for row in rows if int(row['_step']) > 0]
    places = np.linspace(0, len(rows) - 1, n + 1)[1:]
    return [rows[int(place)] for place in np.round(places)]


def _add_run(tables: Tables, run: str, split: str, params_b: float,
             rows: list[Row]) -> None:
    batch = int(rows[-1]['batch_size_in_tokens'])
    budget = int(rows[-1]['_step']) * batch
    for row in rows:
        step = int(row['_step'])
        tables.add(
            f'{run}@{step}',
            Model(
                run.removesuffix('-rerun'), split, params_b, step * batch, run,
                step, budget),
            _matching(
                row, r'eval/(?:downstream_bpb/(.*)_rc_5shot_bpb'
                r'|(.*)-validation/CrossEntropyLoss)'),
            _matching(row, r'eval/downstream/(.*)_rc_5shot_(?:len_norm|acc)'))


def _matching(row: Row, pattern: str) -> dict[str, float]:
    """Numbers by what the groups of a pattern take of the columns' names."""
    matches = ((re.fullmatch(pattern, column), text)
               for column, text in row.items())
    return {
        next(filter(None, match.groups())): float(text)
        for match, text in matches if match
    }


def read_overtrained(clone: Path) -> Tables:
    """Losses are in nats per token, of one tokenizer."""
    benchmarks = {
        row['Eval Task']:
        Benchmark(
            float(row['Random baseline']) / 100, int(row['#datapoints']))
        for row in _rows(clone / 'exp_data/eval_metadata.csv')
    }
    # The table gives arc_challenge the number of items of arc_easy.
    tables = Tables({
        **benchmarks, 'arc_challenge':
        described('arc_challenge_test')
    })
    for path in sorted((clone / 'exp_data/models').glob('*.json')):
        model = json.loads(path.read_text())
        name, sizes = model['name'], model['hyperparameters']
        evaluation = json.loads(
            (clone /
             f'exp_data/evals/evaluation_{name}_heavy.json').read_text())
        losses = {
            _corpus(result['val_data'][0]): float(result['loss'])
            for result in model['results']
        }
        tables.add(
            name,
            Model(
                model['dataset_name'], 'test' if Path(
                    sizes['model']).stem.startswith('open_lm') else 'train',
                sizes['params'] / 1e9, sizes['tokens']), losses,
            evaluation['eval_metrics']['icl'])
    return tables


def _corpus(path: str) -> str:
    """`paloma_ptb` of `training/eval_data/val_tok_mult/paloma_ptb/1.tar`."""
    return Path(path).parent.name


def read_mixtures(clone: Path) -> Tables:
    """Losses are in nats per token: of texts, and of right answers."""
    tables = Tables()
    for split, file in [('train', 'sweep.csv'), ('test', 'extrapolation.csv')]:
        for row in _rows(clone / 'data' / file):
            # How many answers the items of imbue have is not published.
            scores = _matching(
                row, r'eval/downstream/((?!imbue).*)_(?:len_norm|acc)')
            tables.add(
                row['name'],
                Model(row['data'], split,
                      float(row['params']) / 1e9, float(row['tokens'])),
                _matching(
                    row, r'eval/(?:downstream_ce_loss/(.*)_ce_loss'
                    r'|(.*)_val/CrossEntropyLoss)'), {
                        name.replace('openbook_qa', 'openbookqa'): score
                        for name, score in scores.items()
                    })
    return tables


def write_tables(tables: Tables, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    _write_matrix(out / 'losses.csv', tables.losses)
    _write_matrix(out / 'scores.csv', tables.scores)
    used = {name for row in tables.scores.values() for name in row}
    write_csv(out / 'benchmarks.csv', ['benchmark', *Benchmark._fields],
              [[name, *(tables.benchmarks.get(name) or described(name))]
               for name in sorted(used)])
    fields = Model._fields if any(
        model.run for model in tables.models.values()) else Model._fields[:-3]
    write_csv(out / 'models.csv', ['model', *fields],
              [[name, *model[:len(fields)]]
               for name, model in tables.models.items()])


def _write_matrix(path: Path, rows: Mapping[str, Mapping[str, float]]) -> None:
    columns = sorted({column for row in rows.values() for column in row})
    write_csv(path, ['model', *columns],
              [[name, *(row.get(column) for column in columns)]
               for name, row in rows.items()])


def _rows(path: Path) -> list[Row]:
    with path.open(newline='') as file:
        return list(csv.DictReader(file))


READERS: dict[str, Callable[[Path], Tables]] = {
    'ladder': read_ladder,
    'dense_ladder': partial(read_ladder, checkpoints=None),
    'overtrained': read_overtrained,
    'mixtures': read_mixtures,
}


def main(argv: Optional[Sequence[str]] = None) -> None:
    parser = parser_of(__doc__)
    parser.add_argument('collection', choices=list(READERS))
    parser.add_argument('clone', type=Path)
    parser.add_argument('--out', required=True, type=Path)
    args = parser.parse_args(argv)
    write_tables(READERS[args.collection](args.clone), args.out)


if __name__ == '__main__':
    main()
