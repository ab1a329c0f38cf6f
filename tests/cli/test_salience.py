"""The command `salience`: its verbs, its errors, and how quickly it starts."""
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from csv_plugin import __version__
from csv_plugin.cli import copy_configs, run_demo, salience
from csv_plugin.cli.salience import VERBS, main
from tests.scripts import check_end, refusal

#: Prints what of these is loaded after calls that must not fail.
CALLS = """
import sys
from csv_plugin.cli.salience import main
for words in CALLS:
    try:
        main(words)
    except SystemExit as end:
        assert end.code == 0
print({*SLOW} & {*sys.modules})
"""
SLOW = 'torch', 'opencompass', 'pyarrow', 'scipy.stats', 'scipy.optimize'


def shown_by(slow, *calls):
    """What one process prints that loads nothing that is slow."""
    code = f'SLOW, CALLS = {slow}, {calls}\n{CALLS}'
    process = subprocess.run([sys.executable, '-c', code],
                             capture_output=True,
                             text=True)
    assert process.stdout.split()[-1] == 'set()', process.stderr
    return (process.stdout + process.stderr).split()


def test_it_starts_without_loading_packages():
    shown = shown_by((*SLOW, 'numpy'), ['--help'], ['--version'])
    assert {*VERBS, __version__} <= {*shown}


@pytest.mark.slow
def test_help_on_verbs_loads_no_slow_packages():
    calls = [[verb, '--help']
             for verb in ('demo', 'fit', 'predict', 'watch', 'triage')]
    shown = shown_by(SLOW, *calls)
    assert shown.count('usage:') == 5


@pytest.mark.slow
def test_a_prediction_loads_no_slow_packages(tmp_path):
    """Nor do ranks, which known accuracies have."""
    data = Path(salience.__file__).parents[1] / 'data/bits_per_character'
    words = [
        'predict', '--losses', f'{data}_losses.csv', '--known',
        f'{data}_scores.csv', '--predictor', f'{data}.safetensors'
    ]
    shown = shown_by(('torch', 'matplotlib', 'scipy.stats', 'scipy.optimize'),
                     words)
    assert 'rank' in shown and 'Llama-3-70b' in shown


@pytest.mark.slow
def test_a_missing_table_is_found_before_torch_is_loaded():
    words = 'fit --collection nope --scoring-lm nope --out nope'.split()
    assert 'nope/models.csv:' in shown_by(SLOW, words)


@pytest.mark.parametrize('words, says', [
    ([], 'required: VERB'),
    (['predcit'], "VERB: 'predcit' is unknown; did you mean predict?"),
    (['fit', '--method', 'papr'], 'did you mean paper?'),
    (['fit', '--losess', 'a.csv'], 'did you mean --losses?'),
    (['predict', 'a', './a'], 'a is given twice'),
    (['fit', '--chance', 'a=0.25', 'a=0.5'], 'a is given twice'),
    (['triage', '--predictor', 'a', '--predictor', 'b'],
     '--predictor: the option is given twice'),
    (['fit', '--out', 'a', '--ou=b'], '--out: the option is given twice'),
    (['predict', 'a'], 'arguments are required: --predictor'),
    (['triage', '--budget', '0'], "such as 2000, 4e12 or 4T (with K, M, B or "
     "T), found '0'"),
    (['triage', '--budget', '100G'], "found '100G'"),
])  # yapf: disable
def test_words_that_are_refused(capsys, words, says):
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    assert capsys.readouterr().err.endswith(f'{says}\n')


def test_packages_that_are_missing_are_named(monkeypatch, capsys):

    def fail(name):
        raise ModuleNotFoundError(
            "No module named 'torch.nn'", name='torch.nn')

    monkeypatch.setattr(salience, 'import_module', fail)
    assert main(['fit', '--help']) == 2
    assert capsys.readouterr().err == (
        "error: salience fit: expected the package 'torch', found none. "
        "Run pip install '.[lm,report]' in a clone, or install the wheel as "
        "'NAME.whl[lm,report]'.\n")


def test_the_line_that_was_typed_is_known(monkeypatch):
    lines = []
    monkeypatch.setattr(run_demo, 'run',
                        lambda args: lines.append(args.command))
    assert main(['demo', '--work-dir', 'a b']) == 0
    assert lines == ["salience demo --work-dir 'a b'"]


def test_ctrl_c(monkeypatch, capsys):

    def fail(args):
        raise KeyboardInterrupt

    monkeypatch.setattr(run_demo, 'run', fail)
    assert main(['demo']) == 130
    assert capsys.readouterr().err.count('\n') == 1


def test_configs_are_copied(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(['demo', '--copy-configs']) == 0
    originals = sorted(copy_configs.RUNS.glob('*.py'))
    for path in originals:
        copy = tmp_path / path.name
        assert copy.read_text('utf-8') == path.read_text('utf-8')
    assert check_end(capsys.readouterr().out) == [
        'Written:', *(path.name for path in originals)
    ]
    assert main(['demo', '--copy-configs', 'eval_csv']) == 0
    (tmp_path / 'eval_csv.py').write_text('mine')
    assert main('demo --copy-configs eval_csv --out new/folder'.split()) == 0
    assert 'eval_csv.py: expected no file, or an unchanged copy' in refusal(
        capsys, 'demo', '--copy-configs')
    assert "eval_csv_slurm, eval_csv_trial, found 'eval'" in refusal(
        capsys, 'demo', '--copy-configs', 'eval')


@pytest.fixture
def demo(tmp_path, monkeypatch):
    """The command that the demonstration runs, in place of a run."""
    calls = []

    def run(command, env):
        calls.append((command, env['OMP_NUM_THREADS']))
        return subprocess.CompletedProcess(command, len(calls) - 1)

    monkeypatch.setattr(run_demo, 'subprocess', SimpleNamespace(run=run))
    monkeypatch.setattr(run_demo, 'find_spec', lambda name: name)
    monkeypatch.delenv('OMP_NUM_THREADS', raising=False)
    monkeypatch.chdir(tmp_path)
    return calls


def test_demo(demo, capsys):
    assert main(['demo', '--work-dir', 'there']) == 0
    line, = capsys.readouterr().out.splitlines()
    assert re.search(r'seven small models .* about \w+ minutes', line)
    [(command, threads)] = demo
    assert command[1:3] == ['-m', 'opencompass.cli.main'] and threads == '1'
    assert command[3].endswith('configs/runs/eval_csv.py')
    assert command[4:] == ['--work-dir', 'there']
    with pytest.raises(SystemExit) as end:
        main(['demo'])
    assert end.value.code == 1


def test_files_of_the_demo_lie_where_it_says(demo, capsys):
    assert main(['demo', '--where']) == 0
    assert Path(capsys.readouterr().out.strip(), 'texts.jsonl').is_file()
    assert main(['demo', '--where', 'configs']) == 0
    assert Path(capsys.readouterr().out.strip(), 'models').is_dir()
    assert not demo


def test_demo_that_opencompass_cannot_run(demo, monkeypatch, capsys):
    assert 'expected a path without spaces' in refusal(capsys, 'demo',
                                                       '--work-dir', 'a b')
    monkeypatch.setattr(run_demo, 'find_spec', lambda name: None)
    assert "'.[opencompass]'" in refusal(capsys, 'demo')
    assert not demo
