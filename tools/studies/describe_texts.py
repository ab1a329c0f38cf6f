"""How long texts are, what part of them is answers, and a model's losses.

    salience texts --shipped --out outputs/shipped
    salience losses model --texts outputs/shipped/texts.jsonl --out outputs/on
    python -m tools.studies.describe_texts outputs/shipped/texts.jsonl \\
        --dump outputs/on/model.safetensors --tokenizer FOLDER FOLDER

prints two tables in Markdown: tokens by tokenizer, and losses by kind of text.
The kind is the sub-task, without the language where the id has one.
"""
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from tabulate import tabulate
from transformers import PreTrainedTokenizerFast

from csv_plugin.core.features import answer_mask
from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.texts import Text
from csv_plugin.io.dumps import read_dump
from csv_plugin.io.text_sets import read_texts, subtask_name
from csv_plugin.lm.tokens.tokenization import tokenize_all
from tools.studies.options import parser_of


def kind_of(text: Text) -> str:
    """What a text is counted under: its source if it has many sub-tasks."""
    kind, _, language = subtask_name(text).rpartition('_')
    return kind if re.fullmatch('en|zh', language) else text.source


def token_row(folder: Path, texts: Sequence[Text]) -> list[str]:
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(folder / 'tokenizer.json'))
    spans = [text.spans for text in tokenize_all(tokenizer, texts)]
    lengths = np.array([len(part) for part in spans])
    share = answer_mask(texts, spans).mean()
    low, middle, high = np.percentile(lengths, [5, 50, 95])
    return [
        folder.name, f'{lengths.sum():,}', f'{middle:.0f}',
        f'{low:.0f}-{high:.0f}', f'{share:.0%}'
    ]


def loss_row(name: str, texts: Sequence[Text],
             losses: Iterable[TokenLosses]) -> list[str]:
    parts = list(losses)
    values = np.concatenate([part.losses for part in parts])
    answers = answer_mask(texts, [part.spans for part in parts])
    n_bytes = sum(part.spans.n_bytes for part in parts)
    bits = np.nansum(values) / np.log(2) / n_bytes
    return [
        name,
        str(len(parts)), f'{len(values) / len(parts):.0f}',
        f'{answers.mean():.0%}', f'{np.nanmean(values):.2f}',
        f'{np.nanmean(values[answers]):.2f}', f'{bits:.2f}'
    ]


def main(path: Path, tokenizer: Sequence[Path], dump: Path | None) -> None:
    texts = read_texts(path).texts
    if tokenizer:
        print(
            tabulate([token_row(folder, texts) for folder in tokenizer],
                     ('tokenizer', 'tokens', 'median of a text',
                      '5 to 95 % of texts', 'in answers'), 'github'),
            end='\n\n')
    if dump is not None:
        scored = {part.text_id: part for part in read_dump(dump).texts}
        kinds = dict.fromkeys(map(kind_of, texts))
        groups = {
            kind: [text for text in texts if kind_of(text) == kind]
            for kind in kinds
        } | {
            'all': texts
        }
        print(
            tabulate([
                loss_row(kind, group, (scored[text.text_id] for text in group))
                for kind, group in groups.items()
            ], ('kind', 'texts', 'tokens of a text', 'in answers', 'loss',
                'in answers', 'bits per byte'), 'github'))


if __name__ == '__main__':
    parser = parser_of(__doc__)
    parser.add_argument('path', type=Path)
    parser.add_argument('--tokenizer', type=Path, nargs='+', default=())
    parser.add_argument('--dump', type=Path)
    main(**vars(parser.parse_args()))
