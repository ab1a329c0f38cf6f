"""A headless browser that opens a page and tells what happened."""
import base64
import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

_NAMES = ('chromium', 'chromium-browser', 'google-chrome')
_CHROMIUM = next(filter(None, map(shutil.which, _NAMES)), None)


def needs_browser(test: Callable) -> Callable:
    """Mark a test, which is skipped where no browser is installed."""
    skip = pytest.mark.skipif(
        _CHROMIUM is None, reason=f'no browser: none of {", ".join(_NAMES)}')
    return pytest.mark.browser(skip(test))


_RECORDER = """
window.problems = [];
window.alert = words => problems.push(`alert: ${words}`);
window.addEventListener('error', event =>
  problems.push(`error: ${event.message || event.target.outerHTML}`), true);
document.addEventListener('securitypolicyviolation', event =>
  problems.push(`policy: ${event.violatedDirective} ${event.blockedURI}`));
"""
_ACTOR = """
window.addEventListener('load', () => {
  const result = (() => { %s })();
  setTimeout(() => {
    const loaded = performance.getEntriesByType('resource');
    document.documentElement.dataset.visit = JSON.stringify(
      {problems, result, loaded: loaded.map(each => each.name)});
  }, 100);
});
"""


@dataclass(frozen=True)
class Visit:
    """What a browser loaded and noticed."""
    #: What the action returned.
    result: Any
    #: Errors, alerts and what the page's own policy forbade.
    problems: list[str]
    #: Addresses that were asked for.
    loaded: list[str]


def visit(html: str, folder: Path, action: str) -> Visit:
    """Open a copy of a page, act on it, and return what happened.

    The page's policy is widened by the hashes of the two scripts that
    record and act, and by nothing else. The action is JavaScript that returns
    a result as JSON can hold it.
    """
    recorder, actor = _RECORDER, _ACTOR % action
    for script in (recorder, actor):
        html = html.replace("script-src '", f"script-src '{_hash(script)}' '",
                            1)
    policy, end = html.find('<meta http-equiv'), html.find('</body>')
    after = html.index('>', policy) + 1
    assert 0 < policy < end
    html = (f'{html[:after]}<script>{recorder}</script>{html[after:end]}'
            f'<script>{actor}</script>{html[end:]}')
    path = folder / 'visited.html'
    path.write_text(html, 'utf-8')
    process = subprocess.run([
        _CHROMIUM, '--headless', '--no-sandbox', '--disable-gpu',
        '--no-first-run', f'--user-data-dir={folder / "profile"}',
        '--virtual-time-budget=2000', '--dump-dom',
        path.as_uri()
    ],
                             capture_output=True,
                             text=True,
                             encoding='utf-8',
                             timeout=120)
    reader = _Reader()
    reader.feed(process.stdout)
    assert reader.report is not None, process.stderr[-2000:]
    return Visit(**json.loads(reader.report))


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode('utf-8')).digest()
    return f'sha256-{base64.b64encode(digest).decode("ascii")}'


class _Reader(HTMLParser):
    """Finds what the actor left on the root element."""
    report = None

    def handle_starttag(self, tag, attrs):
        if tag == 'html':
            self.report = dict(attrs).get('data-visit')
