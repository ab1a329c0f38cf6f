"""Options that would have no effect are refused, before files are read."""
import pytest

from tests.scripts import refusal

SIZE = ('triage --out o --params 7e9 --tokens 1e12 --predictor p --history h '
        '--models m.csv')


@pytest.mark.parametrize('call, ignored', [
    ('demo --copy-configs --work-dir runs', '--work-dir'),
    ('demo --where --work-dir runs', '--work-dir'),
    ('demo --where --out o', '--out'),
    ('demo --out o', '--out'),
    ('texts --shipped --seed 3 --out o', '--seed'),
    ('losses model --texts t --tasks arc --out o', '--tasks'),
    ('losses --checkpoints c --revisions r --texts t --out o', '--revisions'),
    ('losses model --url u --texts t --out o', '--url'),
    ('import every-eval-ever records --texts t --out o', '--texts'),
    ('import lighteval folder --chance a=.5 --out o', '--chance'),
    ('fit --losses l.csv --texts t --out o', '--texts'),
    ('fit --collection c --models m.csv --out o', '--models'),
    ('fit --runs r --texts t --models m.csv --benchmarks b.csv --tasks arc '
     '--out o', '--tasks'),
    ('fit --collection c --steps 3 --out o', '--steps'),
    ('predict a --predictor p --texts t', '--texts'),
    ('predict a --predictor p --json --wide', '--wide'),
    ('compare a b --same-family', '--same-family'),
    ('compare a b --tasks arc', '--tasks'),
    ('compare a b --margin 2', '--margin'),
    ('compare a b --json --line', '--line'),
    ('compare a b --json --wide', '--wide'),
    ('compare a b --line --wide', '--wide'),
    ('triage --predictor p --dumps d --out o --json --wide', '--wide'),
    ('triage --predictor p --dumps d --out o --fit train', '--fit'),
    ('triage --predictor p --dumps d --out o --predict test', '--predict'),
    ('triage --losses l.csv --predictor p --out o', '--predictor'),
    (f'{SIZE} --known k.csv', '--known'),
    (f'{SIZE} --budget 3', '--budget'),
    (f'{SIZE} --fit train', '--fit'),
    (f'{SIZE} --scores s.csv', '--scores'),
    (f'{SIZE} --predict test', '--predict'),
])  # yapf: disable
def test_options_without_effect(tmp_path, monkeypatch, capsys, call, ignored):
    monkeypatch.chdir(tmp_path)
    error = refusal(capsys, *call.split())
    assert f', found {ignored}. Leave ' in error, error
    assert not any(tmp_path.iterdir())
