"""What the commands say of themselves."""
import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_examples_keep_their_lines():
    """A backslash at the end of a line is doubled, or it joins two."""
    wrong = []
    for tool in sorted((ROOT / 'tools').glob('*.py')):
        command = ROOT / 'csv_plugin/cli' / tool.name
        words = ast.get_docstring(ast.parse(command.read_text('utf-8'))) or ''
        if (f'python tools/{tool.name}' not in words
                or max(map(len, words.splitlines())) >= 80):
            wrong.append(tool.name)
    assert not wrong
