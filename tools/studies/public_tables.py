"""Tables of losses and accuracies from what others published.

    python -m tools.studies.public_tables COLLECTION CLONE --out FOLDER

reads a clone of a public repository and writes the four tables that
`salience fit` takes (docs/formats.md) into a folder; where the models are
checkpoints, models.csv is the table of `--checkpoints` too. The collections:

ladder       allenai/OLMo-ladder: 30 runs of 190 million to 3 billion
             parameters and two of 7 and 13 billion, twelve checkpoints each
             (Bhagia et al., arXiv 2412.04403)
overtrained  mlfoundations/scaling: 104 models of 11 million to 7 billion
             parameters, of three mixtures of texts (Gadre et al.,
             arXiv 2403.08540)
mixtures     KempnerInstitute/loss-to-loss-notebooks: 535 models of six
             mixtures of texts (Brandfonbrener et al., arXiv 2411.12925)
pythia       EleutherAI/pythia: checkpoints of 16 runs of 70 million to 12
             billion parameters, OPT and BLOOM, no examples in the prompts
             (Biderman et al., arXiv 2304.01373)
pythia_five_shot
             the same with five examples in the prompts: 21 runs of Pythia
pruned       tweizy/wanda-prunning-experiment: two models of 7 and 8 billion
             parameters, as they are and pruned in six ways each

The split `test` is the largest models, and `validation` is, in the ladder,
the runs of 3 billion parameters; among pruned models, `test` is those that
kept most of their weights. `pythia` and `pruned` come with a fifth table,
wrong.csv: what was left out of the source, and why.
"""
import csv
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from csv_plugin.io.tables import write_csv
from tools.studies.common import parser_of

Row = Mapping[str, str]

#: Checkpoints that `ladder` takes of each run.
CHECKPOINTS = 12

#: First step of `pythia` that counts: before it, models are hardly trained.
FIRST_STEP = 1000


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

    Attributes:
        wrong (list[tuple[str, str, str]]): Model, cell and reason of what
            `add_checked` left out.
    """
    benchmarks: Mapping[str, Benchmark] = field(default_factory=dict)
    models: dict[str, Model] = field(default_factory=dict)
    losses: dict[str, dict[str, float]] = field(default_factory=dict)
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    wrong: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, name: str, model: Model, losses: dict[str, float],
            scores: dict[str, float]) -> None:
        self.models[name] = model
        self.losses[name] = losses
        self.scores[name] = scores

    def add_checked(self, name: str, model: Model, losses: dict[str, float],
                    scores: dict[str, float]) -> None:
        """Add a model, and leave out what cannot be right.

        A model without a finite positive loss on every text is left out, and
        so is one whose losses are those of another model in all digits. An
        accuracy is left out that is no fraction, or no whole number of items
        over the number of items.
        """
        bad = [
            text for text, loss in losses.items()
            if not (math.isfinite(loss) and loss > 0)
        ]
        for text in bad:
            self.wrong.append((name, f'loss of {text}', f'is {losses[text]}'))
        if bad:
            return
        for other in self.models:
            if self.losses[other] == losses:
                self.wrong.append((name, 'all', f'same losses as {other}'))
                return
        kept = {}
        for benchmark, score in scores.items():
            n_items = self.benchmarks[benchmark].n_items
            items = score * n_items
            if not 0 <= score <= 1:
                self.wrong.append((name, benchmark, f'{score} is no fraction'))
            elif abs(items - round(items)) > 1e-3:
                self.wrong.append(
                    (name, benchmark, f'{score} is not of {n_items} items'))
            else:
                kept[benchmark] = score
        self.add(name, model, losses, kept)


def known_benchmarks(names: str) -> dict[str, Benchmark]:
    """Benchmarks of public_benchmarks.csv, by the names of a program.

    `splits` are names such as `piqa_val`, `harness` those of
    lm-evaluation-harness. Numbers of items of MMLU's splits are what all
    accuracies are multiples of one over; its mean over subjects has none.
    """
    path = Path(__file__).with_name('public_benchmarks.csv')
    return {
        row['benchmark']: Benchmark(float(row['chance']), int(row['n_items']))
        for row in _rows(path) if row['names'] == names
    }


def described(name: str) -> Benchmark:
    """What is known of a benchmark such as `piqa_val`: 25 % by default."""
    known = known_benchmarks('splits')
    return known.get(name.replace('_mc_5shot', ''), Benchmark(0.25))


def read_ladder(clone: Path) -> Tables:
    """Losses are in nats per token, and in bits per byte of right answers."""
    folder = clone / 'src/scripts/paper/data/ladder-runs'
    tables = Tables()
    for path in sorted(folder.glob('*xC*.csv')):
        size = path.stem.split('-')[0]
        params_b = float(size[:-1]) / (1000 if size[-1] == 'M' else 1)
        split = 'validation' if size == '3B' else 'train'
        _add_run(tables, path.stem, split, params_b, _spread(_rows(path)))
    for run, params_b in [('peteish7', 7), ('peteish13', 13)]:
        rows = _rows(folder / f'{run}_eval_full.csv')
        begun = [row for row in rows if int(row['_step']) > 0]
        _add_run(tables, run, 'test', params_b, _spread(begun))
    return tables


def _spread(rows: list[Row]) -> list[Row]:
    """Checkpoints at equal distances, and the last."""
    rows = sorted(rows, key=lambda row: int(row['_step']))
    places = np.linspace(0, len(rows) - 1, CHECKPOINTS + 1)[1:]
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


#: Tokens that others' models were trained on, by family.
TOKENS = {
    'opt': 180e9,
    'bloom': 341e9,
    'Llama-2-7b-hf': 2e12,
    'Llama-3.1-8B': 15e12,
}


def read_pythia(clone: Path, examples: int) -> Tables:
    """The loss is in nats per last word of a passage of LAMBADA.

    The two runs of a size, and those with other batch sizes, are one family,
    and so are OPT and BLOOM. The accuracy of MMLU is the mean of its subjects.
    """
    tables = Tables(known_benchmarks('harness'))
    folder = clone / 'evals'
    paths = [
        path for path in sorted((folder / 'pythia-v1').rglob('*.json'))
        # Runs that continue on other texts.
        if path.parent.name not in ('baseline', 'intervention')
    ]
    for path in paths + sorted(folder.glob('opt/*.json')) + sorted(
            folder.glob('bloom/*.json')):
        found = json.loads(path.read_text())
        name, model = _pythia_model(path.relative_to(folder))
        trained = model.step >= FIRST_STEP or model.family in TOKENS
        if trained and found['config']['num_fewshot'] == examples:
            results = found['results']
            tables.add_checked(
                name, model._replace(step=0),
                {'lambada': math.log(results['lambada_openai']['ppl'])},
                _harness_scores(results, tables.benchmarks))
    return tables


def _pythia_model(path: Path) -> tuple[str, Model]:
    """A model by the path of its results, such as `opt/opt-1.3b.json`."""
    series = path.parts[0]
    if series in TOKENS:
        params_b = _billions(path.stem.split('-')[1])
        return path.stem, Model(series, _by_size(params_b), params_b,
                                TOKENS[series])
    run = path.parts[1]
    size = run.split('-')[1]
    params_b = _billions(size)
    step = int(path.stem.rpartition('_step')[2])
    batch = re.search(r'-([\d.]+)MtokBS', run)
    tokens = step * 2**20 * (float(batch[1]) if batch else 2)
    return f'{run}@{step}', Model(
        f'pythia-{size}', _by_size(params_b), params_b, tokens, step=step)


def _by_size(params_b: float) -> str:
    return 'test' if params_b > 1 else 'train'


def _billions(size: str) -> float:
    """Billions of parameters of a size such as `70m`, `8B` or `7b1`."""
    if size.endswith('m'):
        return float(size[:-1]) / 1000
    return float(re.sub(r'b(?=\d)', '.', size.lower()).rstrip('b'))


def _harness_scores(results: Mapping[str, Mapping[str, float]],
                    known: Mapping[str, Benchmark]) -> dict[str, float]:
    """Accuracies by benchmark, those of the subjects of MMLU as a mean."""
    scores = {
        name: result['acc']
        for name, result in results.items() if name in known
    }
    subjects = [
        result['acc'] for name, result in results.items()
        if name.startswith('hendrycksTest-')
    ]
    return {**scores, 'mmlu': float(np.mean(subjects))}


def read_pruned(clone: Path) -> Tables:
    """The loss is in nats per token of WikiText-2, of two tokenizers.

    A family is a model and what was pruned from it. Models that lost at most
    30 % of their weights are for `test`.
    """
    tables = Tables(known_benchmarks('harness'))
    for path in sorted(clone.glob('results_*/results_complete.json')):
        for base, found in json.loads(path.read_text()).items():
            params_b = _billions(base.removesuffix('-hf').split('-')[-1])
            for way, perplexity in found['perplexity'].items():
                percent = int(way.partition('_')[2] or 0)
                scores = dict(found['zero_shot'][way])
                del scores['average']
                split = 'test' if percent <= 30 else 'train'
                tables.add_checked(f'{base} {way}',
                                   Model(base, split, params_b, TOKENS[base]),
                                   {'wikitext2': math.log(perplexity)}, scores)
    return tables


def write_tables(tables: Tables, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    _write_matrix(out / 'losses.csv', tables.losses)
    _write_matrix(out / 'scores.csv', tables.scores)
    used = set().union(*tables.scores.values())
    write_csv(out / 'benchmarks.csv', ['benchmark', *Benchmark._fields],
              [[name, *(tables.benchmarks.get(name) or described(name))]
               for name in sorted(used)])
    fields = Model._fields
    if not any(model.run for model in tables.models.values()):
        fields = fields[:-3]
    write_csv(out / 'models.csv', ['model', *fields],
              [[name, *model[:len(fields)]]
               for name, model in tables.models.items()])
    if tables.wrong:
        write_csv(out / 'wrong.csv', ['model', 'cell', 'reason'], tables.wrong)


def _write_matrix(path: Path, rows: Mapping[str, Mapping[str, float]]) -> None:
    columns = sorted(set().union(*rows.values()))
    lines = [[name, *map(row.get, columns)] for name, row in rows.items()]
    write_csv(path, ['model', *columns], lines)


def _rows(path: Path) -> list[Row]:
    with path.open(newline='') as file:
        return list(csv.DictReader(file))


READERS: dict[str, Callable[[Path], Tables]] = {
    'ladder': read_ladder,
    'overtrained': read_overtrained,
    'mixtures': read_mixtures,
    'pythia': partial(read_pythia, examples=0),
    'pythia_five_shot': partial(read_pythia, examples=5),
    'pruned': read_pruned,
}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('collection', choices=list(READERS))
    parser.add_argument('clone', type=Path)
    parser.add_argument('--out', required=True, type=Path)
    args = parser.parse_args()
    write_tables(READERS[args.collection](args.clone), args.out)


if __name__ == '__main__':
    main()
