"""Models of a list, which several calls share without doing work twice."""
import json
import os
import signal
from pathlib import Path

import pytest

from csv_plugin.cli import score_models, scoring_lists
from csv_plugin.cli.salience import main
from csv_plugin.core.texts import TextSet
from csv_plugin.demo import shipped
from csv_plugin.io.claims import MOST
from csv_plugin.io.text_sets import read_texts, write_texts
from tests.io.test_claims import write_claim

known_tokens = pytest.importorskip('csv_plugin.lm.tokens.known_tokens')

MODEL, TOKENIZER = shipped.ZOO / 'd/s/100', shipped.ZOO / 'd/tokenizer'
NAMES = ['k', 'l', 'm']
DUMPS = [f'{name}.parquet' for name in NAMES]


@pytest.fixture(autouse=True)
def out(tmp_path, monkeypatch):
    """The folder of the dumps, beside a list of models and three texts."""
    monkeypatch.chdir(tmp_path)
    score_models._known_tokens.cache_clear()
    write_texts('texts.jsonl', TextSet(read_texts(shipped.TEXTS).texts[::100]))
    Path('models.csv').write_text('model,path,tokenizer\n' +
                                  ''.join(f'{name},{MODEL},{TOKENIZER}\n'
                                          for name in NAMES))
    (tmp_path / 'out').mkdir()
    return tmp_path / 'out'


def call(*options, out='out', models='models.csv'):
    return main(['losses', '--models', models, '--texts', 'texts.jsonl',
                 '--out', out, *options])  # yapf: disable


def contents(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def test_parts_in_any_order_make_the_same_bytes(capsys, monkeypatch):
    tokenized = []

    def count(tokenizer, texts):
        tokenized.extend(texts)
        return tokenize_all(tokenizer, texts)

    tokenize_all = known_tokens.tokenize_all
    monkeypatch.setattr(known_tokens, 'tokenize_all', count)
    assert call(out='one') == 0
    # Tokens are made once for all models.
    assert len(tokenized) == 3
    whole = contents('one')
    assert sorted(whole) == DUMPS
    Path('reversed.csv').write_text('\n'.join([
        *Path('models.csv').read_text().splitlines()[:1],
        *Path('models.csv').read_text().splitlines()[:0:-1]
    ]))
    assert call('--shard', '2/2', models='reversed.csv') == 0
    assert contents('out') == whole
    # The first part finds its models done, and looks at them.
    capsys.readouterr()
    assert call('--shard', '1/2') == 0
    assert capsys.readouterr().out.splitlines() == [
        f'{name}: out/{name}.parquet is there (transformers, float32)'
        for name in ('k', 'm')
    ]


def test_what_others_work_on_is_left_to_them(out, capsys, monkeypatch):
    score = score_models._Losses.score
    monkeypatch.setattr(score_models._Losses, 'score', scored_by_name)
    claim = write_claim(out)
    assert call('--shard', '3/3') == 0
    assert capsys.readouterr().out.splitlines() == [
        'k: scored', 'l: scored', 'Others work on 1 models: m'
    ]
    assert main(['status', 'out', '--models', 'models.csv']) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line.split() for line in shown[2:6]] == [['missing', '2'],
                                                     ['claimed', '1'],
                                                     ['failed', '0'],
                                                     ['done', '0']]
    assert shown[6].startswith('claimed: m: process 1 on ')
    assert shown[7:] == ['missing: k, l']
    monkeypatch.setattr(score_models._Losses, 'score', score)
    os.utime(claim, (1, 1))
    assert call('--shard', '3/3') == 0
    assert sorted(contents(out)) == DUMPS
    capsys.readouterr()
    assert main(['status', 'out', '--models', 'models.csv', '--json']) == 0
    assert json.loads(capsys.readouterr().out) == {
        'complete':
        True,
        'models': [{
            'model': name,
            'state': 'done',
            'reason': ''
        } for name in NAMES]
    }


def scored_by_name(losses, *_):
    return 'scored'


def test_models_that_fail(out, capsys, monkeypatch):
    """They are told of, and only those who look after them try again."""
    Path('none').mkdir()
    Path('list').write_text(f'k=none\n\nl={MODEL}\nm=none\n')
    tokenizer = ['--tokenizer', str(TOKENIZER)]
    assert call('--shard', '1/2', *tokenizer, models='list') == 2
    assert 'none of k, m.' in capsys.readouterr().err
    # The machine may be at fault: it takes nothing from other parts.
    assert sorted(contents(out)) == ['k.error.txt', 'm.error.txt']
    assert call('--shard', '2/2', *tokenizer, models='list') == 0
    main(['status', 'out', '--models', 'list'])
    assert "failed: k, m: model 'none': expected" in capsys.readouterr().out
    (out / 'l.parquet').write_bytes(b'damaged')
    main(['status', 'out', '--models', 'list'])
    assert 'failed: l: out/l.parquet: ' in capsys.readouterr().out
    monkeypatch.setattr(score_models._Losses, 'score', scored_by_name)
    assert call(*tokenizer, models='list') == 0
    assert sorted(contents(out)) == ['l.parquet']


def test_an_end_gives_claims_free(out, monkeypatch):

    def crash(*_):
        raise RuntimeError('out of memory')

    monkeypatch.setattr(score_models._Losses, 'score', crash)
    with pytest.raises(RuntimeError):
        call()
    assert contents(out) == {'k.error.txt': b'RuntimeError out of memory'}
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(score_models._Losses, 'score',
                        lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    with pytest.raises(SystemExit) as caught:
        call()
    assert caught.value.code == 143
    assert contents(out) == {}
    assert signal.getsignal(signal.SIGTERM) is before


def test_who_loses_a_claim_stops(out, capsys, monkeypatch):

    def begin(parts, info):
        write_claim(out, 2)

    monkeypatch.setattr(score_models.DumpParts, 'begin', begin)
    Path('list').write_text(f'm={MODEL}\n')
    assert call('--tokenizer', str(TOKENIZER), models='list') == 2
    assert 'expected one that this process holds' in capsys.readouterr().err
    assert 'm.claim-2' in contents(out) and 'm.parquet' not in contents(out)


def test_a_model_that_kills_does_not_stop_the_others(out, capsys, monkeypatch):
    monkeypatch.setattr(score_models._Losses, 'score', scored_by_name)
    write_claim(out, MOST, age=1e6)
    assert call() == 2
    captured = capsys.readouterr()
    assert captured.out.splitlines() == ['k: scored', 'l: scored']
    assert f'found {MOST} that were killed' in captured.err
    main(['status', 'out', '--models', 'models.csv'])
    assert 'missing: m: left by process 1 on' in capsys.readouterr().out


def test_the_next_weights_are_read(out, monkeypatch):
    monkeypatch.setattr(score_models._Losses, 'score', scored_by_name)
    read = []
    monkeypatch.setattr(scoring_lists, 'read_ahead', read.append)
    (out / 'l.parquet').touch()
    Path('list').write_text('k=a\nl=b\nm=c\n')
    assert call(models='list') == 0
    assert read == ['c']


@pytest.mark.parametrize('options, says', [
    (['--models', 'models.csv', 'x'], "no other models beside it, found x."),
    (['--models', 'none'], "found the error 'No such file"),
    (['--models', 'models.csv', '--engine', 'vllm'], 'found 3'),
    (['--models', 'models.csv', '--checkpoints', 'c'], 'found c.'),
])  # yapf: disable
def test_bad_input(capsys, options, says):
    assert main(['losses', *options, '--texts', 'texts.jsonl', '--out',
                 'other']) == 2  # yapf: disable
    assert says in capsys.readouterr().err
    assert not Path('other').exists()


def test_status_needs_the_folder(capsys):
    assert main(['status', 'none', '--models', 'models.csv']) == 2
    assert 'expected the folder of the dumps' in capsys.readouterr().err
