"""Blocks of code in README and docs, and the commands in them."""
import ast
import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', *sorted(
        (ROOT / 'docs').glob('*.md'))
]
APPENDIX = sorted((ROOT / 'docs/appendix').glob('*.md'))
#: Notebooks, whose cells the site's builder runs.
GALLERY = sorted((ROOT / 'docs/gallery').glob('*.md'))
EVERY_PAGE = PAGES + APPENDIX + GALLERY
#: How a line with a command begins, after settings such as `COLUMNS=80`.
_COMMAND = re.compile(
    r'(?:[A-Z_]+=\S* )*'
    r'(?:\S*/)?(?:[A-Z]=|(?:bash|export|git|lm_eval|make|opencompass|pip'
    r'|python3?|salience|sh|source|sudo|time) |try_\w+\.sh)')
#: A line that makes a block a script of the shell.
_OF_SCRIPTS = re.compile(r'^(?:#!|if )', re.M)
#: A setting for the commands that follow.
_SETTING = re.compile(r'[A-Z]=|export ')


class Block(NamedTuple):
    """A block of a page, by its path, indented or between fences."""
    page: str
    line: int
    text: str

    @property
    def kind(self) -> str:
        """'examples', 'script', 'commands', 'config', 'python' or 'text'."""
        if '>>> ' in self.text:
            return 'examples'
        if _OF_SCRIPTS.search(self.text):
            return 'script'
        if _COMMAND.match(self.text):
            return 'commands'
        try:
            ast.parse(self.text)
        except SyntaxError:
            return 'text'
        # Parts of a config of OpenCompass, which are nothing by themselves.
        is_config = re.search(r'read_base\(\)|\bdict\(|^(models|datasets) ',
                              self.text, re.M)
        return 'config' if is_config else 'python'

    @property
    def commands(self) -> list[str]:
        """Each command, without line breaks and comments."""
        lines = self.text.replace('\\\n', ' ').splitlines()
        return [
            re.sub(' +', ' ',
                   line.partition(' # ')[0]).strip() for line in lines
            if line.strip()
        ]


def is_setting(command: str) -> bool:
    """Whether a command does nothing but set a variable of the shell."""
    return bool(_SETTING.match(command))


def blocks(page: Path) -> Iterator[Block]:
    """All blocks of a page, but for those that the site's builder runs."""
    name = page.relative_to(ROOT).as_posix()
    lines = [*page.read_text('utf-8').splitlines(), 'end']
    fence, info, start, block = '', '', 0, []
    for number, line in enumerate(lines, start=1):
        mark = re.match(r'\s*(```+|:::+)(.*)', line)
        if fence:
            if line.strip() == fence:
                if not info.startswith('{'):
                    text = textwrap.dedent('\n'.join(block))
                    yield Block(name, start, text)
                fence, block = '', []
            else:
                block.append(line)
        elif mark and not block:
            fence, info, start = mark[1], mark[2].strip(), number + 1
        elif line.startswith('    ') or (block and not line.strip()):
            start = start if block else number
            block.append(line)
        elif block:
            text = textwrap.dedent('\n'.join(block)).strip('\n')
            yield Block(name, start, text)
            block = []


def all_blocks() -> list[Block]:
    return [block for page in EVERY_PAGE for block in blocks(page)]


def inline_commands(pages: Iterable[Path]) -> Iterator[str]:
    """The commands that stand in sentences and tables."""
    for page in pages:
        for code in re.findall(r'`([^`]+)`', page.read_text('utf-8')):
            code = ' '.join(code.split())
            if ' ' in code and _COMMAND.match(code):
                yield code
