"""Reads the prompts of a benchmark from OpenCompass's dataset config."""
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from csv_plugin.core.conventions import InputError
from csv_plugin.oc.validation_set.item_templates import (ItemTemplate,
                                                         split_template)


@dataclass(frozen=True)
class DatasetPrompts:
    """How a dataset becomes prompts.

    Args:
        template (ItemTemplate): The prompt template.
        input_columns (Sequence[str]): Columns of an item that the template
            may name.
        output_column (Optional[str]): Column of the references, if any.
        retriever (str): Name of the class that chooses the in-context
            examples.
        example_places (Optional[Collection[int]]): Places in the train split
            among which the retriever chooses, or None for all places.
    """
    template: ItemTemplate
    input_columns: Sequence[str]
    output_column: Optional[str]
    retriever: str
    example_places: Optional[Collection[int]]


def read_prompts(config: Any) -> DatasetPrompts:
    """Read the parts of a dataset config that shape its prompts.

    Args:
        config (Any): Config of an OpenCompass dataset.

    Raises:
        InputError: If a part is missing, or as in
            `item_templates.split_template`.
    """
    try:
        reader, infer = config['reader_cfg'], config['infer_cfg']
        columns = reader['input_columns']
        columns = columns.split() if isinstance(columns, str) else [*columns]
        prompt = infer.get('prompt_template') or infer['ice_template']
        template, ice_token = prompt['template'], prompt.get('ice_token')
        kind = infer['retriever']['type']
        name = kind if isinstance(kind, str) else kind.__name__
        places = infer['retriever'].get('fix_id_list')
        output_column = reader['output_column']
    except (AttributeError, KeyError, TypeError) as error:
        raise InputError(
            'reader_cfg and infer_cfg',
            "columns, a 'PromptTemplate' and a retriever with its type",
            f'{type(error).__name__}: {error}',
            'Choose another dataset config.') from error
    return DatasetPrompts(
        split_template(template, columns, ice_token), columns, output_column,
        name.rpartition('.')[2], places)
