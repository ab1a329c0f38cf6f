"""Token losses of models on a validation set, and their settings."""
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from csv_plugin.core.conventions import (InputError, PublicNames, check_known,
                                         check_unique, utf8_bytes)
from csv_plugin.core.formatting import short_repr
from csv_plugin.core.losses import TargetTokens, TextLosses, TokenLosses
from csv_plugin.core.texts import TextSet

#: Start of the note about models that were scored in different ways.
MIXED = 'models were scored in different ways'
#: Packages whose versions may read the files of a model differently. Of the
#: others, such as torch, a version moves losses by rounding alone.
_READERS = 'transformers', 'vllm'


@dataclass(frozen=True)
class DumpInfo:
    """Settings of the scoring that made a dump.

    `fingerprint` is that of the whole validation set, even if the dump
    contains a part of it; see `texts.fingerprint`. `prefix` is the token in
    front of every text, such as 'bos 1' or 'eos 2' with its vocabulary index;
    'none' without one. `dtype` is the number format of the model's body, such
    as 'bfloat16'; `cache_dtype` that of the cache of keys and values, 'none'
    if the model ran without one. `context` is the longest window in tokens,
    `stride` the tokens scored by each window after the first of a text; 0 if
    unlimited. `versions` are those of packages by name, and the revision of
    the model. `folder` is the name of the model in its run (the folder of its
    predictions); empty without a run.
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


def mixed_engines(infos: Mapping[str, DumpInfo]) -> list[str]:
    """Return notes about models with several engines or number formats.

    Another one is about several versions of `transformers` or vLLM; a dump
    without its version is no other version. The list is empty if all models
    were scored the same way.
    """
    ways: dict[str, list[str]] = {}
    for model, info in infos.items():
        cache = ('no cache' if info.cache_dtype == 'none' else
                 f'cache in {info.cache_dtype}')
        ways.setdefault(f'{info.engine}, {info.dtype}, {cache}',
                        []).append(model)
    notes = []
    if len(ways) > 1:
        notes.append(
            f'{MIXED}: {_described(ways)}. Half precision changes token '
            'losses by hundredths of a nat and more, which a predictor '
            'attributes to the models. Use one engine and one number format '
            'for all models.')
    return notes + _mixed_versions(infos)


def _mixed_versions(infos: Mapping[str, DumpInfo]) -> list[str]:
    """Notes about packages of which models had several versions."""
    notes = []
    for package in _READERS:
        versions: dict[str, list[str]] = {}
        for model, info in infos.items():
            version = info.versions.get(package, 'unknown')
            if version != 'unknown':
                versions.setdefault(f'{package} {version}', []).append(model)
        if len(versions) > 1:
            notes.append(
                f'{MIXED}: {_described(versions)}. A version may read the '
                'files of a model differently, and other losses come out. '
                'Use one version for all models.')
    return notes


def _described(groups: Mapping[str, list[str]]) -> str:
    """Ways of scoring, each with its first model."""
    described = []
    for way, models in groups.items():
        more = f' and {len(models) - 1} more' if len(models) > 1 else ''
        described.append(f'{way} ({models[0]}{more})')
    return '; '.join(described)


@dataclass(frozen=True, eq=False)
class TokenLossDump:
    """Losses of one model on all texts of a validation set, or on a part.

    Texts are different, each with its `sha256`.

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
                                 'Take it from the text that was scored.')

    __repr__ = short_repr


@dataclass(frozen=True, eq=False)
class ModelLosses(PublicNames, Mapping[str, TokenLossDump]):
    """Dumps of M models on all texts of one validation set, by model.

    Each has all texts in the order of the set.

    Raises:
        InputError: A dump is of another validation set, or its texts are not
            these.
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
                    f'losses of {model!r}', f'the {len(self.texts)} texts '
                    f'{self.texts.fingerprint[:12]} in their order',
                    f'{len(dump.texts)} of {dump.info.fingerprint[:12]}',
                    'Score the texts of this validation set.')

    def __getitem__(self, model: str) -> TokenLossDump:
        return self.dumps[model]

    def __iter__(self) -> Iterator[str]:
        return iter(self.dumps)

    def __len__(self) -> int:
        return len(self.dumps)

    def __repr__(self) -> str:
        return (f'ModelLosses({len(self)} models on {len(self.texts)} texts '
                f'{self.texts.fingerprint[:12]})')

    def __or__(self, losses: 'ModelLosses') -> 'ModelLosses':
        """Return the models of both; the second losses win."""
        return ModelLosses(self.texts, {**self.dumps, **losses.dumps})

    def select(self, models: Sequence[str]) -> 'ModelLosses':
        """Return the given models, in the given order.

        An `InputError` if there are no losses of a model.
        """
        check_known('losses', models, self.dumps)
        dumps = {model: self.dumps[model] for model in models}
        return ModelLosses(self.texts, dumps)

    def tokens_of(self, model: str) -> TargetTokens:
        """Return the tokens of a model's own tokenizer as target tokens.

        An `InputError` if there are no losses of the model.
        """
        dump = self.select([model])[model]
        return TargetTokens.of(self.texts, TextLosses.of(dump.texts).spans)
