"""A finished OpenCompass run, made up: scores, dumps and predictors."""
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import text_columns
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.losses import TargetTokens, TextLosses, TokenLosses
from csv_plugin.core.model_losses import DumpInfo, ModelLosses, TokenLossDump
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.dumps import write_dump
from csv_plugin.io.runs.run_dumps import dataset_abbr

TEXTS = TextSet(tuple(Text(f't{i}', 'abcdef') for i in range(5)))
OTHER_TEXTS = TextSet(tuple(Text(f't{i}', 'ghijkl') for i in range(5)))
#: Skill of the models that predictors are fitted on, by their names.
FITTED = {f'fit-{i}': i / 8 for i in range(16)}


def true_accuracy(skill: float) -> float:
    return float(1 / (1 + np.exp(2 - 2 * skill)))


def model_losses(skill: float, texts: TextSet = TEXTS) -> list[TokenLosses]:
    """Losses that fall with skill, more so on the first two texts."""
    rng = np.random.default_rng(int(1000 * skill))
    return [
        TokenLosses(
            text.text_id,
            6 - (0.5 if i < 2 else 0.2) * skill + 0.02 * rng.normal(size=3),
            TokenSpans([0, 2, 4], [2, 4, 6], 6),
            6,
            sha256=text.sha256) for i, text in enumerate(texts)
    ]


def on_texts(losses: ModelLosses, texts: TextSet) -> ModelLosses:
    """The losses on some of the texts, a validation set of their own."""
    rows = [losses.texts.ids.index(name) for name in texts.ids]
    return ModelLosses(
        texts, {
            model:
            TokenLossDump(
                replace(dump.info, fingerprint=texts.fingerprint),
                TextLosses.of(dump.texts).select(rows))
            for model, dump in losses.items()
        })


@lru_cache
def train(benchmarks: Sequence[str] = ('easy', 'hard'),
          texts: TextSet = TEXTS,
          shift: float = 0) -> Predictor:
    """A predictor fitted on the models of `FITTED`.

    Their accuracies are those of models whose skill is lower by the shift.
    """
    losses = {m: model_losses(skill, texts) for m, skill in FITTED.items()}
    targets = TargetTokens.of(texts, [text.spans for text in losses['fit-0']])
    table = targets.table(losses)
    columns = text_columns(table)
    accuracies = np.array([
        [true_accuracy(skill - shift - b) for b in range(len(benchmarks))]
        for skill in FITTED.values()
    ])  # yapf: disable
    observed = AccuracyTable(
        tuple(FITTED), tuple(benchmarks), accuracies,
        np.zeros(len(benchmarks)), np.zeros(len(benchmarks), int))
    predictor = fit_predictor(
        columns.features(table), observed,
        [f'family-{i % 4}' for i in range(16)])
    return predictor.with_tokens(targets, columns)


def dump(model: str,
         losses: Sequence[TokenLosses],
         texts: TextSet = TEXTS,
         folder: str = '') -> TokenLossDump:
    info = DumpInfo(
        texts.fingerprint,
        model,
        tokenizer='letters',
        prefix='bos 1',
        dtype='float32',
        context=0,
        stride=0,
        versions={},
        folder=folder)
    return TokenLossDump(info, tuple(losses))


def write_losses(work_dir: Path,
                 model: str,
                 losses: Sequence[TokenLosses],
                 texts: TextSet = TEXTS,
                 part: str = '',
                 folder: str = '') -> Path:
    path = Path(work_dir, 'predictions', model,
                f'{dataset_abbr(texts.fingerprint)}{part}.safetensors')
    path.parent.mkdir(parents=True, exist_ok=True)
    write_dump(path, dump(model, losses, texts, folder))
    return path


def write_run(
    work_dir: Path,
    models: Mapping[str, float],
    datasets: Sequence[str] = ('easy', 'hard')
) -> None:
    for model, skill in models.items():
        write_losses(work_dir, model, model_losses(skill))
        for b, dataset in enumerate(datasets):
            write_result(work_dir, model, dataset,
                         {'accuracy': 100 * true_accuracy(skill - b)})


def write_result(work_dir: Path, model: str, dataset: str,
                 result: Mapping[str, Any]) -> None:
    path = Path(work_dir, 'results', model, f'{dataset}.json')
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result), 'utf-8')


def write_summary(work_dir: Path,
                  table: Sequence[Sequence[str]],
                  time: str = '20260101_120000') -> Path:
    """The table of a summary as OpenCompass 0.5.4 writes it, the CSV file."""
    lines, rule = '\n'.join(map(','.join, table)), '-' * 128
    path = Path(work_dir, 'summary', f'summary_{time}.csv')
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix('.txt').write_text(
        f'{time}\ntabulate format\n{"^" * 128}\n{tabulate(table)}\n'
        f'{"$" * 128}\n\n{rule} THIS IS A DIVIDER {rule}\n\n'
        f'csv format\n{"^" * 128}\n{lines}\n{"$" * 128}\n\n'
        f'raw format\n{"^" * 128}\n{{}}\n{"$" * 128}\n', 'utf-8')
    path.write_text(
        '\n'.join(','.join(cell.replace(',', ' ') for cell in row)
                  for row in table) + '\n', 'utf-8')
    return path
