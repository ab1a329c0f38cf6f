"""Drawing items of a benchmark, evenly over its sub-tasks."""
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text
from csv_plugin.oc.validation_set.benchmark_texts import (Subtask, question,
                                                          squeeze)
from csv_plugin.oc.validation_set.text_recipes import TextSource

_T = TypeVar('_T')

SHOWN = 'prompts show it as an example'
TWICE = 'an earlier text is the same'


@dataclass(frozen=True)
class Sample:
    """Texts of one source.

    Args:
        texts (tuple[Text, ...]): By sub-task and place.
        passed_over (dict[str, list[str]]): Ids of items that were drawn and
            not used, by reason.
    """
    texts: tuple[Text, ...]
    passed_over: dict[str, list[str]]


def sample_texts(source: TextSource, subtasks: Sequence[Subtask], seed: int,
                 seen: set[str]) -> Sample:
    """Draw the texts of a source.

    Sub-tasks take turns, in an order drawn anew each round, so their counts
    differ by one at most unless a sub-task has no more items. The order of
    things drawn is that of SHA-256 digests of the seed and their names: the
    same on every machine, and not disturbed by other sources.

    Args:
        source (TextSource): How many, and what to call them.
        subtasks (Sequence[Subtask]): Of the source.
        seed (int): Another seed draws other items.
        seen (set[str]): Texts drawn before, `squeeze`d; grows.

    Returns:
        Sample: `source.count` texts with ids 'source/sub-task/place'.

    Raises:
        InputError: There are not so many usable items.
    """
    passed_over: dict[str, list[str]] = defaultdict(list)
    drawn = {
        subtask.name: _usable(source, subtask, seed, seen, passed_over)
        for subtask in subtasks
    }
    texts: dict[str, list[Text]] = {name: [] for name in drawn}
    n_texts, n_round = 0, 0
    while drawn and n_texts < source.count:
        n_round += 1
        for name in _drawn_order(drawn, seed, source.name, n_round):
            text = next(drawn[name], None)
            if text is None:
                del drawn[name]
                continue
            texts[name].append(text)
            n_texts += 1
            if n_texts == source.count:
                break
    if n_texts < source.count:
        reasons = [
            f'{len(ids)} passed over because {reason}'
            for reason, ids in passed_over.items()
        ]
        n_unanswered = sum(subtask.n_unanswered for subtask in subtasks)
        if n_unanswered:
            reasons.append(f'{n_unanswered} without an answer')
        raise InputError(
            f'source {source.name!r}', f'{source.count} items',
            f'{n_texts}' + (f' ({", ".join(reasons)})' if reasons else ''),
            'Ask for fewer.' if n_texts else 'Choose another dataset config.')
    ordered = [
        text for of_subtask in texts.values()
        for text in sorted(of_subtask, key=_place)
    ]
    return Sample(tuple(ordered), dict(passed_over))


def _usable(source: TextSource, subtask: Subtask, seed: int, seen: set[str],
            passed_over: dict[str, list[str]]) -> Iterator[Text]:
    """Items of a sub-task in their drawn order, those that make a text."""
    for place in _drawn_order(subtask.items, seed, source.name, subtask.name):
        text_id = f'{source.name}/{subtask.name}/{place}'
        try:
            text = subtask.render(place)
        except Exception as error:  # whatever templates raise
            passed_over[f'{type(error).__name__}: {error}'].append(text_id)
            continue
        asked, whole = squeeze(question(text)), squeeze(text.text)
        if asked in subtask.examples:
            passed_over[SHOWN].append(text_id)
        elif whole in seen:
            passed_over[TWICE].append(text_id)
        else:
            seen.add(whole)
            yield replace(text, text_id=text_id, source=source.name)


def _place(text: Text) -> int:
    return int(text.text_id.rpartition('/')[2])


def _drawn_order(things: Iterable[_T], *names: object) -> list[_T]:
    """Sorted by a digest of their names."""

    def digest(thing: _T) -> bytes:
        key = '\0'.join(map(str, (*names, thing)))
        return hashlib.sha256(key.encode('utf-8')).digest()

    return sorted(things, key=digest)
