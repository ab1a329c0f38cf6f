"""Models whose losses come from different engines or number formats."""
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from csv_plugin.core.model_losses import DumpInfo
from csv_plugin.core.predictor import Predictor

#: What the line about models to fit to begins with.
MIXED = 'the models to fit to were scored in different ways'

_REMEDY = ('Half precision moves losses of tokens by hundredths of a nat and '
           'more, and a predictor takes that for a property of the models. '
           'One engine and one number format for all models would do')


def mixed_engines(infos: Mapping[str, DumpInfo]) -> list[str]:
    """What to say of models to fit to that were scored in different ways.

    Args:
        infos (Mapping[str, DumpInfo]): How their losses were made, by model.

    Returns:
        list[str]: One line if there are several engines, number formats of
        weights, or number formats of the cache; none otherwise.
    """
    ways = _ways(infos)
    if len(ways) < 2:
        return []
    return [f'{MIXED}: {_described(ways)}. {_REMEDY}']


def other_engines(infos: Mapping[str, DumpInfo],
                  fitted: Collection[str]) -> list[str]:
    """What to say of models that were scored as none to fit to was.

    Args:
        infos (Mapping[str, DumpInfo]): How the losses of all models were
            made, by model.
        fitted (Collection[str]): Models to fit to.

    Returns:
        list[str]: One line if there are such models; none otherwise.
    """
    ways = _ways(infos)
    others = {
        way: models
        for way, models in ways.items() if not set(models) & set(fitted)
    }
    if not others:
        return []
    usual = {way: m for way, m in ways.items() if way not in others}
    return [
        f'models were scored in another way, {_described(others)}, than '
        f'those to fit to, {_described(usual)}. {_REMEDY}'
    ]


def noted(predictor: Predictor, notes: Sequence[str]) -> Predictor:
    """The same predictor; the notes of benchmarks say this as well.

    Not those of benchmarks whose predictions do not depend on losses.
    """
    return replace(
        predictor,
        benchmarks=tuple(
            part if part.
            is_mean else replace(part, notes=(*part.notes, *notes))
            for part in predictor.benchmarks))


def _ways(infos: Mapping[str, DumpInfo]) -> dict[str, list[str]]:
    """Models by the engine and the number formats, in words."""
    ways: dict[str, list[str]] = {}
    for model, info in infos.items():
        cache = ('no cache' if info.cache_dtype == 'none' else
                 f'cache in {info.cache_dtype}')
        ways.setdefault(f'{info.engine}, {info.dtype}, {cache}',
                        []).append(model)
    return ways


def _described(ways: Mapping[str, Sequence[str]]) -> str:
    return '; '.join(f'{way} ({models[0]}' +
                     (f' and {len(models) - 1} more)' if models[1:] else ')')
                     for way, models in ways.items())
