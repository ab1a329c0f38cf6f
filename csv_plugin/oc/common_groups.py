"""Averages over groups of datasets that every summary has by itself."""
from collections.abc import Mapping, Sequence
from typing import Any

from opencompass.configs.summarizers.groups.bbh import bbh_summary_groups
from opencompass.configs.summarizers.groups.ceval import ceval_summary_groups
from opencompass.configs.summarizers.groups.cmmlu import cmmlu_summary_groups
from opencompass.configs.summarizers.groups.mmlu import mmlu_summary_groups
from opencompass.utils import dataset_abbr_from_cfg

_COMMON: tuple[Mapping[str, Any],
               ...] = (*bbh_summary_groups, *mmlu_summary_groups,
                       *cmmlu_summary_groups, *ceval_summary_groups)


def with_common_groups(groups: Sequence[Mapping[str, Any]],
                       datasets: Sequence[Any]) -> list[Mapping[str, Any]]:
    """The groups of a run, and OpenCompass's of bbh, mmlu, cmmlu and ceval.

    Args:
        groups (Sequence[Mapping]): The `summary_groups` of the run. Those of
            OpenCompass with the name of one of them are left out.
        datasets (Sequence[Any]): Configs of the datasets of the run. Groups
            with none of them are left out, and those named like one of them.
    """
    present = {*map(dataset_abbr_from_cfg, datasets)}
    taken = present | {group['name'] for group in groups}
    return [
        *groups, *(group for group in _COMMON if group['name'] not in taken
                   and not present.isdisjoint(group['subsets']))
    ]
