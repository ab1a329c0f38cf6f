"""Token losses of models on a validation set, and how they were scored."""
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from csv_plugin.core.conventions import (InputError, PublicNames, check_known,
                                         check_unique, utf8_bytes)
from csv_plugin.core.formatting import short_repr
from csv_plugin.core.losses import TargetTokens, TextLosses, TokenLosses
from csv_plugin.core.texts import TextSet

#: Start of each note about models that were scored in different ways.
MIXED = 'models were scored in different ways'
#: Packages of which two versions may read the files of a model differently.
#: Two versions of any other package, such as torch, change losses by rounding
#: only.
_READERS = 'transformers', 'vllm'


@dataclass(frozen=True)
class DumpInfo:
    """The settings with which the losses of a dump were scored.

    `fingerprint` is the hash of the whole validation set, even if the dump
    contains only some of its texts; see `texts.fingerprint`. `prefix` is the
    token in front of every text with its index in the vocabulary, such as 'bos
    1' or 'eos 2', or 'none' if there is no such token. `dtype` is the number
    format of the model's body, such as 'bfloat16'. `cache_dtype` is the number
    format of the cache of keys and values, or 'none' if the model ran without
    a cache. `context` is the largest number of tokens in a window. `stride` is
    the number of tokens that each window of a text after the first one scores.
    Both are 0 if a window has no limit. `versions` maps names of packages to
    their versions, and also has the revision of the model. `folder` is the
    name of the model in the OpenCompass run, which is the name of the folder
    of its predictions; it is empty without a run.
    """
    fingerprint: str
    model: str
    tokenizer: str
    prefix: str
    dtype: str
    context: int
    stride: int
    versions: Mapping[str, str]
    engine: str = 'transformers'
    cache_dtype: str = 'none'
    folder: str = ''


def mixed_engine_notes(infos: Mapping[str, DumpInfo]) -> list[str]:
    """Return notes that say which models were scored in different ways.

    A note is about different engines, number formats or caches, or about
    different versions of `transformers` or vLLM. A dump that does not state
    the version is not compared. The list is empty if all models were scored
    in the same way.
    """
    ways: dict[str, list[str]] = {}
    for model, info in infos.items():
        cache = 'no cache'
        if info.cache_dtype != 'none':
            cache = f'cache in {info.cache_dtype}'
        way = f'{info.engine}, {info.dtype}, {cache}'
        ways.setdefault(way, []).append(model)
    notes = []
    if len(ways) > 1:
        notes.append(
            f'{MIXED}: {_described(ways)}. Half precision changes token '
            'losses by hundredths of a nat and more, and a predictor takes '
            'this for a difference between the models. Score all models with '
            'the same engine, number format and cache.')
    return notes + _mixed_versions(infos)


def _mixed_versions(infos: Mapping[str, DumpInfo]) -> list[str]:
    """Return a note for each package that models used in several versions."""
    notes = []
    for package in _READERS:
        versions: dict[str, list[str]] = {}
        for model, info in infos.items():
            version = info.versions.get(package, 'unknown')
            if version != 'unknown':
                name = f'{package} {version}'
                versions.setdefault(name, []).append(model)
        if len(versions) > 1:
            notes.append(
                f'{MIXED}: {_described(versions)}. Two versions may read the '
                'files of a model differently, and then its losses differ. '
                f'Score all models with the same version of {package}.')
    return notes


def _described(groups: Mapping[str, list[str]]) -> str:
    """Return a text that lists each way of scoring.

    For each way, it names the first of the models that were scored that way.
    """
    described = []
    for way, models in groups.items():
        first, *others = models
        names = first
        if others:
            names += f' and {len(others)} more'
        described.append(f'{way} ({names})')
    return '; '.join(described)


@dataclass(frozen=True, eq=False)
class TokenLossDump:
    """Losses of one model on all or some texts of a validation set.

    All texts are different, and each has its `sha256`.

    Raises:
        InputError: A text occurs twice or has no hash, or UTF-8 cannot encode
            its id.
    """
    info: DumpInfo
    texts: Sequence[TokenLosses]

    def __post_init__(self) -> None:
        where = f'dump of {self.info.model!r}'
        texts = TextLosses.of(self.texts)
        object.__setattr__(self, 'texts', texts)
        check_unique(f'{where}, text ids', texts.ids)
        for text_id, sha256 in zip(texts.ids, texts.hashes):
            utf8_bytes(text_id, f'{where}, text id {text_id!r}')
            if not sha256:
                raise InputError(f'{where}, text {text_id!r}',
                                 'the sha256 of the text', 'none',
                                 'Hash the text that was scored.')

    __repr__ = short_repr


@dataclass(frozen=True, eq=False)
class ModelLosses(PublicNames, Mapping[str, TokenLossDump]):
    """The dumps of M models on all texts of one validation set, by model.

    Each dump has all texts of `texts`, in the same order.

    Raises:
        InputError: A dump is of another validation set, or it does not have
            exactly the texts of `texts` in their order.
    """
    texts: TextSet
    dumps: Mapping[str, TokenLossDump]

    def __post_init__(self) -> None:
        object.__setattr__(self, 'dumps', dict(self.dumps))
        expected = self.texts.fingerprint, self.texts.ids, self.texts.hashes
        for model, dump in self.dumps.items():
            losses = TextLosses.of(dump.texts)
            if expected != (dump.info.fingerprint, losses.ids, losses.hashes):
                raise InputError(
                    f'losses of {model!r}', f'the {len(self.texts)} texts of '
                    f'validation set {self.texts.fingerprint[:12]}, in order',
                    f'{len(dump.texts)} texts of validation set '
                    f'{dump.info.fingerprint[:12]}',
                    'Score the texts of the expected validation set.')

    def __getitem__(self, model: str) -> TokenLossDump:
        return self.dumps[model]

    def __iter__(self) -> Iterator[str]:
        return iter(self.dumps)

    def __len__(self) -> int:
        return len(self.dumps)

    def __repr__(self) -> str:
        fingerprint = self.texts.fingerprint[:12]
        return (f'ModelLosses({len(self)} models on {len(self.texts)} texts '
                f'{fingerprint})')

    def __or__(self, losses: 'ModelLosses') -> 'ModelLosses':
        """Return the models of both; `losses` has precedence for a model."""
        dumps = {**self.dumps, **losses.dumps}
        return ModelLosses(self.texts, dumps)

    def select(self, models: Sequence[str]) -> 'ModelLosses':
        """Return the losses of the given models, in the given order.

        Raises:
            InputError: There are no losses of a model.
        """
        check_known('losses', models, self.dumps)
        dumps = {model: self.dumps[model] for model in models}
        return ModelLosses(self.texts, dumps)

    def tokens_of(self, model: str) -> TargetTokens:
        """Return the tokens of a model's own tokenizer as target tokens.

        Raises:
            InputError: There are no losses of the model.
        """
        dump = self.select([model])[model]
        return TargetTokens.of(self.texts, TextLosses.of(dump.texts).spans)
