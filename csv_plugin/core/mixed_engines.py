"""Models whose losses come from different engines or number formats."""
from collections.abc import Mapping
from dataclasses import replace

from csv_plugin.core.model_losses import DumpInfo
from csv_plugin.core.predictor import Predictor

#: What the line about such models begins with.
MIXED = 'models were scored in different ways'


def mixed_engines(infos: Mapping[str, DumpInfo]) -> list[str]:
    """What to say of models that were scored in different ways.

    Args:
        infos (Mapping[str, DumpInfo]): How their losses were made, by model.

    Returns:
        list[str]: One line if there are several engines, number formats of
        weights, or number formats of the cache; none otherwise.
    """
    ways: dict[str, list[str]] = {}
    for model, info in infos.items():
        cache = ('no cache' if info.cache_dtype == 'none' else
                 f'cache in {info.cache_dtype}')
        ways.setdefault(f'{info.engine}, {info.dtype}, {cache}',
                        []).append(model)
    if len(ways) < 2:
        return []
    described = '; '.join(
        f'{way} ({models[0]}' +
        (f' and {len(models) - 1} more)' if models[1:] else ')')
        for way, models in ways.items())
    return [
        f'{MIXED}: {described}. Half precision moves losses of tokens by '
        'hundredths of a nat and more, and a predictor takes that for a '
        'property of the models. One engine and one number format for all '
        'models would do'
    ]


def noted(predictor: Predictor, infos: Mapping[str, DumpInfo]) -> Predictor:
    """The same predictor; the notes of benchmarks say this as well.

    Not those of benchmarks whose predictions do not depend on losses.

    Args:
        predictor (Predictor): Fitted to these models.
        infos (Mapping[str, DumpInfo]): As in `mixed_engines`.
    """
    notes = mixed_engines(infos)
    return replace(
        predictor,
        benchmarks=tuple(
            part if part.
            is_mean else replace(part, notes=(*part.notes, *notes))
            for part in predictor.benchmarks))
