"""Draws items of a benchmark, evenly over its sub-tasks."""
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text
from csv_plugin.oc.text_sampling.benchmark_texts import (Subtask, question,
                                                         squeeze)
from csv_plugin.oc.text_sampling.recipes import TextSource

_T = TypeVar('_T')

#: Reasons for which an item that was drawn is not used.
SHOWN_AS_EXAMPLE = 'prompts show it as an example'
REPEATED = 'an earlier text is the same'


@dataclass(frozen=True)
class Sample:
    """Texts of one source.

    Args:
        texts (tuple[Text, ...]): In the order of sub-task and place.
        passed_over (dict[str, list[str]]): Ids of the items that were drawn
            and not used, by reason.
    """
    texts: tuple[Text, ...]
    passed_over: dict[str, list[str]]


def sample_texts(source: TextSource, subtasks: Sequence[Subtask], seed: int,
                 seen: set[str]) -> Sample:
    """Draw the texts of a source.

    Sub-tasks take turns, in an order drawn anew each round, so their counts
    differ by one at most unless a sub-task has no more items. Everything is
    drawn in the order of SHA-256 digests of the seed and the names: the order
    is the same on every machine, and other sources do not change it.

    Args:
        source (TextSource): Name of the source and number of texts.
        subtasks (Sequence[Subtask]): Sub-tasks of the source.
        seed (int): Another seed draws other items.
        seen (set[str]): All texts drawn before, `squeeze`d. The texts drawn
            now are added to it.

    Returns:
        Sample: `source.count` texts with ids 'source/sub-task/place'.

    Raises:
        InputError: If there are too few usable items.
    """
    passed_over: dict[str, list[str]] = defaultdict(list)
    supplies = {
        subtask.name: _usable(source, subtask, seed, seen, passed_over)
        for subtask in subtasks
    }
    texts: dict[str, list[Text]] = {name: [] for name in supplies}
    n_texts, n_round = 0, 0
    while supplies and n_texts < source.count:
        n_round += 1
        for name in _drawn_order(supplies, seed, source.name, n_round):
            text = next(supplies[name], None)
            if text is None:
                del supplies[name]
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
        raise InputError(
            f'source {source.name!r}', f'{source.count} items',
            f'{n_texts}' + (f' ({", ".join(reasons)})' if reasons else ''),
            'Ask for fewer.' if n_texts else 'Choose another dataset config.')
    for taken in texts.values():
        taken.sort(key=_place)
    return Sample(tuple(sum(texts.values(), [])), dict(passed_over))


def _usable(source: TextSource, subtask: Subtask, seed: int, seen: set[str],
            passed_over: dict[str, list[str]]) -> Iterator[Text]:
    """Texts of a sub-task in the drawn order, without those to pass over."""
    for place in _drawn_order(subtask.items, seed, source.name, subtask.name):
        text_id = f'{source.name}/{subtask.name}/{place}'
        try:
            text = subtask.render(place)
        except Exception as error:  # templates raise errors of any type
            passed_over[f'{type(error).__name__}: {error}'].append(text_id)
            continue
        squeezed = squeeze(text.text)
        if squeeze(question(text)) in subtask.examples:
            passed_over[SHOWN_AS_EXAMPLE].append(text_id)
        elif squeezed in seen:
            passed_over[REPEATED].append(text_id)
        else:
            seen.add(squeezed)
            yield replace(text, text_id=text_id, source=source.name)


def _place(text: Text) -> int:
    return int(text.text_id.rpartition('/')[2])


def _drawn_order(candidates: Iterable[_T], *names: object) -> list[_T]:
    """Candidates in the order of digests of the names and of each of them."""

    def digest(candidate: _T) -> bytes:
        key = '\0'.join(map(str, (*names, candidate)))
        return hashlib.sha256(key.encode('utf-8')).digest()

    return sorted(candidates, key=digest)
