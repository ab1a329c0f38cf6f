"""What the tools say of themselves."""
import ast
from pathlib import Path

import pytest

TOOLS = sorted((Path(__file__).resolve().parents[2] / 'tools').glob('*.py'))


@pytest.mark.parametrize('tool', TOOLS, ids=lambda path: path.stem)
def test_examples_keep_their_lines(tool):
    """A backslash at the end of a line is doubled, or it joins two."""
    words = ast.get_docstring(ast.parse(tool.read_text('utf-8')))
    assert 'python tools/' in words
    assert max(map(len, words.splitlines())) < 80
