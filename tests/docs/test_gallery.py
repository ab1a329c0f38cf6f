"""A build of the site fails where its gallery shows words for pictures."""
import shutil
import subprocess
import sys

import pytest

from tests.docs.blocks import ROOT

PAGE = '''---
file_format: mystnb
kernelspec:
  name: python3
---

# A page

```{code-cell} ipython3
class Shown:
    %s

1
```

```{code-cell} ipython3
for shown in Shown(), Shown():
    display(shown)
```
'''
HTML = 'def _repr_html_(self): return "<b>words</b>"'


@pytest.mark.slow
def test_words_for_a_picture(tmp_path):
    for package in ('sphinx', 'myst_nb', 'furo'):
        pytest.importorskip(package)
    shutil.copy(ROOT / 'docs/conf.py', tmp_path)
    shutil.copytree(ROOT / 'docs/_static', tmp_path / '_static')
    (tmp_path / 'index.md').write_text('# Site\n\n```{toctree}\ngood\nbad\n'
                                       '```\n')
    (tmp_path / 'good.md').write_text(PAGE % HTML)
    (tmp_path / 'bad.md').write_text(PAGE % 'pass')
    found = subprocess.run([
        sys.executable, '-m', 'sphinx', '-b', 'html', '-W', '--keep-going',
        '--quiet', str(tmp_path), str(tmp_path / 'site')
    ], capture_output=True, text=True)  # yapf: disable
    assert found.returncode == 1
    lines = [line for line in found.stderr.splitlines() if 'WARNING' in line]
    assert len(lines) == 1, found.stderr
    assert 'bad.md' in lines[0]
    assert "expected a picture or a table of 'for shown in" in lines[0]
