"""What averages over checkpoints save of the noise of predictions.

    OMP_NUM_THREADS=1 python -m tools.studies.averaging_study training OUT d-s
    OMP_NUM_THREADS=1 python -m tools.studies.averaging_study tables FOLDER
    OMP_NUM_THREADS=1 python -m tools.studies.averaging_study zoo

The first trains a model of the zoo as `tools.studies.live_training` does,
keeps a checkpoint every 20 steps and takes three exams, those with options, of
every tenth; what is in OUT is not made again. The second takes runs whose
losses and scores are tables, as for `salience fit`, each predicted by a fit to
the others of the splits train and validation, and the runs of the split test
by a fit to these. The third takes the models of the demonstration, each series
predicted by a fit to the others.

See docs/results.md.
"""
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from tabulate import tabulate

import csv_plugin as cp
from csv_plugin.core import metrics
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.salience import DEFAULT_SOLVER, SOLVERS
from csv_plugin.demo import shipped
from csv_plugin.lm.loading import load_causal_lm, load_tokenizer
from csv_plugin.triage.averaging import average_losses
from csv_plugin.triage.checkpoints import (describe_checkpoints,
                                           read_checkpoints, rows_by_run)
from tools.studies.live_training import beginner, chosen, trainer_of

#: Steps between checkpoints, and between those that take exams.
EVERY, EXAM_EVERY = 20, 200
#: Parts of the training so far over which losses are averaged.
WINDOWS = .02, .03, .05, .07, .1, .15, .2
#: Numbers of checkpoints, for means and lines.
COUNTS = 2, 3, 4, 6
#: Draws of the bootstrap.
DRAWS = 5000


def lasts(features, checkpoints, count, line):
    """Losses from the last checkpoints: means, or lines in log tokens.

    A line has no lag, but what is at its end is noisier than a mean. Losses
    below 0, to which a line may lead, are set to 0.
    """
    values = features.values.copy()
    described = [checkpoints[model] for model in features.models]
    for rows, done in rows_by_run(described).values():
        for i, row in enumerate(rows):
            near = slice(max(0, i + 1 - count), i + 1)
            x = np.log(done[near] / done[i])
            design = np.vander(x, 2 if line and len(x) > 2 else 1)
            weights = np.linalg.pinv(design)[-1]
            values[row] = np.maximum(weights @ features.values[rows[near]], 0)
    return replace(features, values=values)


def variants(features, checkpoints):
    """Losses by the name of what is done to them."""
    yield 'single checkpoints', features
    for window in WINDOWS:
        yield f'mean of the last {window:.0%}', average_losses(
            features, checkpoints, window)
    for count in COUNTS:
        yield f'mean of {count}', lasts(features, checkpoints, count, False)
    for count in COUNTS[1:]:
        yield f'line through {count}', lasts(features, checkpoints, count,
                                             True)


def scatter(steps, values):
    """Distances from the line through both neighbours.

    In the log of the training, scaled to the noise of a single value, over
    the second half of the checkpoints; `values` are `(n, B)`.
    """
    x = np.log(steps)
    part = ((x[1:-1] - x[:-2]) / (x[2:] - x[:-2]))[:, None]
    off = values[1:-1] - (1 - part) * values[:-2] - part * values[2:]
    scaled = off / np.sqrt(1 + part**2 + (1 - part)**2)
    return scaled[len(scaled) // 2:]


def deviation(distances):
    return np.sqrt(np.mean(np.square(distances)))


def interval(differences):
    """A mean, and its 90 % interval if units are drawn again and again."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(differences), size=(DRAWS, len(differences)))
    low, high = np.quantile(differences[drawn].mean(axis=1), [.05, .95])
    return f'{differences.mean():+.3f} ({low:+.3f} - {high:+.3f})'


def take_exams(folder):
    """Accuracies of a checkpoint on the exams with options."""
    from csv_plugin.configs.datasets.tidewell_exams import \
        tidewell_exams_datasets
    from csv_plugin.demo.exams import TidewellExam
    model = SimpleNamespace(
        model=load_causal_lm(folder), tokenizer=load_tokenizer(folder))
    accuracies = {}
    for dataset in tidewell_exams_datasets:
        if 'max_out_len' not in dataset['infer_cfg']['inferencer']:
            rows = TidewellExam.load(dataset['kind'])
            right = np.equal(chosen(model, rows), rows['label'])
            accuracies[dataset['abbr']] = float(np.mean(right))
    return accuracies


class Folder:
    """Checkpoints of one training, their losses and their exams.

    Args:
        out (Path): Where all is kept.
        name (str): Of the folder of the checkpoints.
    """

    def __init__(self, out, name):
        self.out, self.name = out, name
        self.texts = cp.read_texts(shipped.TEXTS)

    def checkpoint(self, step):
        return self.out / self.name / f'checkpoint-{step}'

    def losses(self, steps):
        """Losses at some steps, made where there are none."""
        paths = []
        for step in steps:
            name = f'{self.name}@{step}'
            paths.append(self.out / 'losses' / f'{name}.parquet')
            if not paths[-1].exists():
                paths[-1].parent.mkdir(exist_ok=True)
                folder = self.checkpoint(step)
                losses = cp.score(
                    load_causal_lm(folder), load_tokenizer(folder), self.texts,
                    name)
                cp.write_dump(paths[-1], losses[name])
        return cp.read_dumps(paths, self.texts)

    def exams(self, steps):
        """Accuracies by exam at some steps, taken where there are none."""
        found = []
        for step in steps:
            path = self.out / 'exams' / f'{self.name}@{step}.json'
            if not path.exists():
                path.parent.mkdir(exist_ok=True)
                path.write_text(json.dumps(take_exams(self.checkpoint(step))))
            found.append(json.loads(path.read_text()))
        return {exam: np.array([one[exam] for one in found])
                for exam in found[0]}  # yapf: disable


def training(out, model):
    """Tables of a training with a checkpoint every few steps."""
    torch.set_num_threads(1)
    single, predictor = Folder(Path(out), model), cp.load(shipped.PREDICTOR)
    llama, tokenizer, batches = beginner(model)
    steps = range(EVERY, len(batches) + 1, EVERY)
    if not single.checkpoint(steps[-1]).exists():
        trainer_of(llama, tokenizer, batches,
                   Path(out) / model, steps[-1], EVERY).train()
    features = predictor.features(single.losses(steps))
    at = [step for step in steps if step % EXAM_EVERY == 0]
    real = single.exams(at)
    columns = [predictor.names.index(exam) for exam in real]
    observed = np.stack(list(real.values()), axis=1)

    def predicted(table, name, steps):
        models = [f'{name}@{step}' for step in steps]
        values = predictor.predict(table.select(models)).values
        return values[:, columns, 0]

    rows, first = [], None
    for name, table in variants(features,
                                describe_checkpoints(features.models)):
        curve = 100 * predicted(table, model, steps)
        errors = 1e4 * (predicted(table, model, at) - observed)**2
        first = errors if first is None else first
        rows.append([
            name, *(deviation(scatter(steps, curve[:, [b]]))
                    for b in range(len(columns))), *errors.mean(axis=0),
            interval((errors - first).mean(axis=1))
        ])
    print(f'{model}: {len(steps)} checkpoints, {len(at)} with exams\n')
    print(tabulate(
        rows, ['losses', *(f'noise {exam}' for exam in real),
               *(f'MSE {exam}' for exam in real), 'change of the mean MSE'],
        floatfmt='.2f', tablefmt='pipe'), end='\n\n')  # yapf: disable


def tables(folder):
    """Tables of runs whose losses and scores are tables."""
    paths = [
        Path(folder) / name for name in ('losses.safetensors', 'scores.csv',
                                         'models.csv', 'benchmarks.csv')
    ]
    known = cp.read_model_tables(*paths)
    accuracies = known.accuracies.select(benchmarks=known.main)
    checkpoints = read_checkpoints(paths[2])
    fitted = known.models_in('train', 'validation')
    for title, others in (('left out in turn', fitted),
                          ('test', known.models_in('test'))):
        runs, fits = [], {}
        for run in dict.fromkeys(checkpoints[model].run for model in others):
            fit = tuple(m for m in fitted if checkpoints[m].run != run)
            if fit not in fits:
                fits[fit] = fit_predictor(
                    known.features, accuracies.select(fit),
                    [checkpoints[model].run
                     for model in fit], SOLVERS[DEFAULT_SOLVER])
            models = sorted((m for m in others if checkpoints[m].run == run),
                            key=lambda model: checkpoints[model].step)
            runs.append((fits[fit], known.features.select(models)))
        report(title, runs, accuracies, checkpoints)


def zoo():
    """The table of the demonstration, each series from the others."""
    known = cp.read_collection(shipped.COLLECTION)
    checkpoints = describe_checkpoints(known.losses)
    runs = []
    for family in sorted(set(known.families.values())):
        fit = [m for m in known.losses if known.families[m] != family]
        predictor = cp.fit(known.losses, known.accuracies.select(fit),
                           known.families)
        others = sorted((m for m in known.losses if m not in fit),
                        key=lambda model: checkpoints[model].step)
        for run in dict.fromkeys(checkpoints[model].run for model in others):
            models = [m for m in others if checkpoints[m].run == run]
            runs.append(
                (predictor, predictor.features(known.losses.select(models))))
    report('series left out', runs, known.accuracies, checkpoints)


def report(title, runs, accuracies, checkpoints):
    """The table of some runs: the predictor and the losses of each."""
    real = [accuracies.select(table.models).values for _, table in runs]
    steps = [checkpoints[model].step for model in runs[0][1].models]
    curves = {}
    for predictor, features in runs:
        for name, table in variants(features, checkpoints):
            curves.setdefault(name, []).append(
                predictor.predict(table).values[:, :, 0])
    errors = {
        name:
        1e3 * np.array(
            [np.mean((mine - known)**2) for mine, known in zip(values, real)])
        for name, values in curves.items()
    }
    rows = [[
        name, 100 * deviation([scatter(steps, run)
                               for run in values]), errors[name].mean(),
        interval(errors[name] - errors['single checkpoints']),
        np.mean([
            metrics.pairwise_accuracy([run[-1, b] for run in real], now[:, b])
            for now in np.swapaxes(values, 0, 1) for b in range(now.shape[1])
        ])
    ] for name, values in curves.items()]
    print(f'{title}: {len(runs)} runs\n')
    print(
        tabulate(
            rows, ['losses', 'noise, points', 'MSE, 1e-3', 'change', 'pairs'],
            floatfmt='.3f',
            tablefmt='pipe'),
        end='\n\n')


if __name__ == '__main__':
    {
        'training': training,
        'tables': tables,
        'zoo': zoo
    }[sys.argv[1]](*sys.argv[2:])
