"""Lists of models to score: one in a line, or a table."""
from pathlib import Path
from typing import NamedTuple, Optional

from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.core.gpu_time import gpus_needed
from csv_plugin.io.csv_rows import CsvRow, read_rows
from csv_plugin.io.file_names import check_file_names
from csv_plugin.io.files import FilePath, read_text
from csv_plugin.io.model_paths import name_and_path

#: Number formats of weights.
DTYPES = ('float32', 'bfloat16', 'float16')
#: Billions of parameters of no model.
_TOO_MANY = 1e6
#: What stands in the column own_code.
YES = 'yes'


class ListedModel(NamedTuple):
    """A model, and what holds for it alone.

    Args:
        path (str): Folder, file, or name on the hub or on a server.
        tokenizer (Optional[str]): Its tokenizer, a folder or a name.
        dtype (Optional[str]): Number format of its weights.
        own_code (bool): Whether code that comes with it is to run, if the
            user lets such code run; False where the list says that others
            need theirs.
        params_b (Optional[float]): Its billions of parameters.
    """
    path: str
    tokenizer: Optional[str] = None
    dtype: Optional[str] = None
    own_code: bool = True
    params_b: Optional[float] = None

    @property
    def gpus(self) -> int:
        """How many GPUs of 80 GB it needs; its size has to be known."""
        assert self.params_b is not None
        return gpus_needed(self.params_b)


def read_model_list(path: FilePath) -> dict[str, ListedModel]:
    """The models in a file, by what to call them, in its order.

    Args:
        path (FilePath): A table `.csv` with the columns `model` (the name)
            and `path`, and if there are such `tokenizer`, `dtype`,
            `own_code` ('yes' or empty; without it, 'yes' for all) and
            `params_b`; or any other text, with MODEL or NAME=MODEL in each
            line. Paths are relative to where the program was started.

    Raises:
        InputError: The file cannot be read or holds no model, two have one
            name, or a name cannot be that of a file.
    """
    if Path(path).suffix == '.csv':
        rows = read_rows(path, ('model', 'path'))
        return _named([(row.text('model'), _of_row(row)) for row in rows])
    lines = [line.strip() for line in read_text(path).splitlines()]
    named = [name_and_path(line) for line in lines if line]
    if not named:
        raise InputError(
            str(path), 'a model in each line', 'none',
            'Name the models to score.')
    return _named([(name, ListedModel(model)) for name, model in named])


def _of_row(row: CsvRow) -> ListedModel:
    if row.cells.get('dtype', '') not in ('', *DTYPES):
        raise row.error('dtype', f'one of {", ".join(DTYPES)}',
                        'Write one of them, or leave the cell empty.')
    if row.cells.get('own_code', '') not in ('', YES):
        raise row.error('own_code', f'{YES} or nothing',
                        f'Write {YES} where code of the model is to run.')
    return ListedModel(
        row.text('path'),
        row.cells.get('tokenizer') or None,
        row.cells.get('dtype') or None,
        row.cells.get('own_code', YES) == YES,
        _params_b(row) if row.cells.get('params_b') else None)


def _params_b(row: CsvRow) -> float:
    params_b = row.number('params_b')
    if not 0 < params_b < _TOO_MANY:
        raise row.error(
            'params_b', 'billions of parameters, above 0 and '
            f'below {_TOO_MANY:,.0f}',
            'Give the size of the model, such as 7 for 7B.')
    return params_b


def _named(models: list[tuple[str, ListedModel]]) -> dict[str, ListedModel]:
    check_unique('names of models', [name for name, _ in models])
    check_file_names('model', [name for name, _ in models],
                     'Give a name, as in NAME=MODEL.')
    return dict(models)
