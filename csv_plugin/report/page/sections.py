"""The parts of the page that need more than the scores."""
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Optional, Union

from csv_plugin.core.predictor import Predictor
from csv_plugin.core.texts import TextSet
from csv_plugin.report.heat_maps import HeatMap, full_weight, strongest_maps

#: Texts that are shown of each benchmark.
N_TEXTS = 3
#: Steps of colour between no weight and full weight.
N_LEVELS = 8


@dataclass(frozen=True, eq=False)
class HeatMaps:
    """Some texts with the salience weights of one benchmark.

    Args:
        benchmark (str): Its name.
        full (float): Size of the weights that are shown in full colour.
        rising (bool): Whether the predicted accuracy rises with the
            weighted loss, unlike what is usual.
        maps (list[HeatMap]): The texts whose weights vary most.
    """
    benchmark: str
    full: float
    rising: bool
    maps: list[HeatMap]

    def level(self, weight: float) -> str:
        """Style class of a weight: p1..p8, n1..n8; '' for 0 and NaN."""
        if math.isnan(weight) or weight == 0:
            return ''
        level = math.ceil(N_LEVELS * min(abs(weight) / self.full, 1))
        return f'{"p" if weight > 0 else "n"}{level}'


@dataclass(frozen=True)
class Fitted:
    """Benchmarks that were fitted on the same models.

    Args:
        benchmarks (tuple[str, ...]): Their names.
        families (Mapping[str, list[str]]): Models by family; by '' if no
            families are known.
    """
    benchmarks: tuple[str, ...]
    families: Mapping[str, list[str]]

    @property
    def n_models(self) -> int:
        """How many models there are."""
        return sum(map(len, self.families.values()))


def heat_sections(predictor: Optional[Predictor],
                  texts: Optional[TextSet]) -> Union[list[HeatMaps], str]:
    """Heat maps of every benchmark, or one line that says why none.

    Raises:
        InputError: If the texts are not those of the predictor.
    """
    if predictor is None:
        return 'Name the predictor with --predictor to see its weights.'
    if predictor.targets is None:
        return ('The predictor was made from tables, so there are no tokens '
                'to show.')
    if texts is None:
        return ('A predictor holds no texts: give the validation set with '
                '--texts to see its weights.')
    return [
        HeatMaps(known.benchmark,
                 full_weight(predictor.token_weights(known.benchmark)),
                 bool(known.model.alpha > 0),
                 strongest_maps(predictor, known.benchmark, texts, N_TEXTS))
        for known in predictor.benchmarks
    ]


def fitted_on(predictor: Predictor, families: Mapping[str,
                                                      str]) -> list[Fitted]:
    """Training models, benchmarks of the same ones together.

    Args:
        predictor (Predictor): Whose.
        families (Mapping[str, str]): Family by model; it may lack some.
    """
    alike: dict[tuple[str, ...], list[str]] = {}
    for known in predictor.benchmarks:
        alike.setdefault(known.fit_models, []).append(known.benchmark)
    return [
        Fitted(tuple(benchmarks), _by_family(models, families))
        for models, benchmarks in alike.items()
    ]


def _by_family(models: Sequence[str],
               families: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for model in models:
        found.setdefault(families.get(model, ''), []).append(model)
    return found
