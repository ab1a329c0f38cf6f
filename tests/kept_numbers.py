"""Numbers of small fixed worlds, kept in files when they were found right.

A file that is missing is written, and the test fails once: to renew a file,
delete it, run the test twice and read the difference.
"""
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).parent / 'kept'
#: Numbers below this are 0.
LEAST = 1e-9


def check_numbers(name: str, found: Any, share: float = 1e-5) -> None:
    """Hold plain values and arrays against those that were kept.

    Numbers may differ by this share, as solvers end elsewhere on other
    machines.
    """
    path, plain = FOLDER / f'{name}.json', _plain(found)
    if not path.exists():
        path.write_text(json.dumps(plain, indent=1) + '\n', encoding='utf-8')
        pytest.fail(f'{path} was missing and is written now')
    wrong = _differences(plain, json.loads(path.read_text('utf-8')), share)
    assert not wrong, '\n'.join(wrong)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return float(f'{value:.8g}') if math.isfinite(value) else str(value)
    return value


def _differences(found: Any,
                 kept: Any,
                 share: float,
                 place: str = '') -> list[str]:
    """Places, with both values."""
    if isinstance(found, list) and isinstance(kept, list):
        found, kept = dict(enumerate(found)), dict(enumerate(kept))
    if isinstance(found, dict) and isinstance(kept, dict):
        return [
            line for key in {
                **found,
                **kept
            } for line in _differences(
                found.get(key, 'none'), kept.get(key, 'none'), share,
                f'{place}/{key}')
        ]
    if isinstance(found, float) and isinstance(kept, (int, float)):
        if math.isclose(found, kept, rel_tol=share, abs_tol=LEAST):
            return []
    return [] if found == kept else [f'{place}: {found}, kept {kept}']
