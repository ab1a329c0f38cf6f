"""Dumps of models from the command line: repetition, bad input."""
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from csv_plugin.cli import score_models
from csv_plugin.cli.salience import main
from csv_plugin.cli.score_models import named_models
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.demo import shipped
from csv_plugin.io.dumps import read_dump, write_dump
from csv_plugin.io.files import sole_writer
from csv_plugin.io.text_sets import read_texts, write_texts
from tests.extras.importers.test_olmo_eval import packed, request
from tests.scripts import check_end, refusal
from tools.demo_maker.building import LOSS_STEP

dumping = pytest.importorskip('csv_plugin.lm.dumping')

from csv_plugin.lm.engines.token_losses import token_losses  # noqa: E402
from tests.extras.servers import Server, running  # noqa: E402
from tests.lm import code_folders  # noqa: E402
from tests.lm.engines import stand_ins  # noqa: E402
from tests.lm.models import make, tokenizer  # noqa: E402

MODEL = str(shipped.ZOO / 'd/s/100')
TOKENIZER = ['--tokenizer', str(shipped.ZOO / 'd/tokenizer')]
OUT = ['losses', '--texts', 'texts.jsonl', '--out', 'out']


@pytest.fixture
def texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    some = TextSet(read_texts(shipped.TEXTS).texts[::100])
    write_texts('texts.jsonl', some)
    return some


def call(*options):
    return main([*OUT, *TOKENIZER, *options])


@pytest.fixture
def interrupted(monkeypatch):
    """Calls that are interrupted before the dump is written."""

    def stop(*_):
        raise KeyboardInterrupt

    def interrupt(*options):
        with monkeypatch.context() as patch:
            patch.setattr(score_models, 'write_dump', stop)
            assert main([*OUT, *options]) == 130

    return interrupt


def test_losses_are_those_of_the_collection(texts, tmp_path, capsys):
    assert call(f'mine={MODEL}') == 0
    assert check_end(capsys.readouterr().out) == [
        'mine: 3 texts, out/mine.safetensors', '', 'Written to out.'
    ]
    dump = read_dump('out/mine.safetensors')
    assert dump.info.model == 'mine' and dump.info.dtype == 'float32'
    assert dump.info.fingerprint == texts.fingerprint
    shipped_dump = read_dump(shipped.COLLECTION / 'd-s@100.safetensors')
    expected = {text.text_id: text.losses for text in shipped_dump.texts}
    for text in dump.texts:
        assert np.allclose(text.losses, expected[text.text_id], atol=LOSS_STEP)
    assert [path.name
            for path in (tmp_path / 'out').iterdir()] == ['mine.safetensors']


def test_code_of_models_runs_where_the_user_lets_it(texts, capsys):
    shutil.copytree(MODEL, 'mine')
    trace = code_folders.add_code(Path('mine'), code_folders.own_model)
    assert "model 'mine': " in refusal(capsys, *OUT, *TOKENIZER, 'mine')
    assert not trace.exists()
    assert call('mine', '--trust-remote-code') == 0
    assert trace.exists()


def test_what_is_there_is_not_scored_again(texts, capsys):
    assert call(f'mine={MODEL}') == 0
    before = read_dump('out/mine.safetensors')
    capsys.readouterr()
    # One folder of a tokenizer has several paths.
    tokenizer = os.path.relpath(TOKENIZER[1])
    assert main([*OUT, 'mine=none/such', '--tokenizer', tokenizer]) == 0
    assert 'out/mine.safetensors is there (transformers, float32)' in (
        capsys.readouterr().out)
    assert read_dump('out/mine.safetensors').info == before.info
    for options, found in ((['--tokenizer', 'other'],
                            "losses with the tokenizer 'other', found"),
                           ([*TOKENIZER, '--dtype',
                             'float16'], "dtype 'float16', found 'float32'"),
                           ([*TOKENIZER, '--engine',
                             'vllm'], "engine 'vllm', found 'transformers'")):
        assert found in refusal(capsys, *OUT, f'mine={MODEL}', *options)
    # A token without a loss, such as a first one, makes no right answers.
    first, *others = before.texts
    losses = first.losses.copy()
    losses[0] = np.nan
    write_dump('out/mine.safetensors',
               replace(before, texts=(replace(first, losses=losses), *others)))
    assert call(f'mine={MODEL}') == 0
    assert 'is there' in capsys.readouterr().out
    # Texts from files are escaped.
    write_dump('out/mine.safetensors',
               replace(before, info=replace(before.info, dtype='a\x1b[2J')))
    assert call(f'mine={MODEL}') == 0
    assert r'is there (transformers, a\x1b[2J)' in capsys.readouterr().out


@pytest.mark.parametrize('change', ['weights', 'setting'])
def test_chunks_of_another_call_are_not_read(texts, interrupted, change):
    shutil.copytree(MODEL, 'model')
    options = ['mine=model']
    interrupted(*options, *TOKENIZER)
    if change == 'weights':
        for name in ('model.safetensors', 'config.json'):
            shutil.copy(shipped.ZOO / 'd/m/65' / name, 'model')
    else:
        options += ['--setting', 'attn_implementation=eager']
    assert call(*options) == 0
    assert main(['losses', '--texts', 'texts.jsonl', '--out', 'whole',
                 *TOKENIZER, *options]) == 0  # yapf: disable
    one, other = (read_dump(f'{f}/mine.safetensors') for f in ('out', 'whole'))
    for first, second in zip(one.texts, other.texts):
        assert np.array_equal(first.losses, second.losses)
    assert not Path('out/mine.parts').exists()


def test_every_nth_model(texts, capsys):
    models = [f'{name}={MODEL}' for name in 'abcd']
    for part, scored in (('2/3', 'b'), ('1/3', 'ad'), ('3/3', 'c')):
        assert call(*models, '--part', part) == 0
        said = check_end(capsys.readouterr().out)[:-2]
        assert [line[:10]
                for line in said] == [f'{n}: 3 texts' for n in scored]
    assert call(*models) == 0
    assert capsys.readouterr().out.count('is there') == 4


def test_folders_without_a_tokenizer_are_found_first(texts, tmp_path, capsys):
    for name in ('a', 'b', 'c'):
        shutil.copytree(MODEL, name)
    shutil.copy(Path(TOKENIZER[1]) / 'tokenizer.json', 'b')
    assert ('none in a, c. Name a tokenizer for all models by --tokenizer, '
            'such as b.' in refusal(capsys, *OUT, 'b', 'a', 'c'))
    assert not (tmp_path / 'out').exists()
    # What is there needs none.
    assert call('a', 'c') == 0
    main([*OUT, 'a', 'c'])
    assert "losses with the tokenizer 'a', found" in capsys.readouterr().err


def test_a_model_that_fails_does_not_stop_the_others(texts, tmp_path, capsys):
    (tmp_path / 'none').mkdir()
    assert call('none', f'mine={MODEL}') == 2
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    assert lines[0].startswith("error: none: model 'none': expected a")
    assert 'losses of all 2, found none of none. ' in lines[-1]
    assert captured.out.startswith('mine: 3 texts')


SERVER = ['--engine', 'vllm-server', '--url', 'http://127.0.0.1:1']


@pytest.mark.parametrize('options, says', [
    ([], 'MODEL or --checkpoints: expected one of them, found none'),
    (['a/x', 'b/x'], "expected every name once, found 'x' twice"),
    (['..'], "model '..': expected a name without slashes"),
    (['x', '--url', 'u'], "expected none of --url beside it, found --url"),
    (['x', '--engine', 'vllm-server'], 'expected --url and --tokenizer'),
    (['x', *SERVER], 'expected --url and --tokenizer beside it'),
    ([f'x={MODEL}', '--engine', 'vllm', *TOKENIZER], 'the package vllm'),
    (['a', 'b', '--engine', 'vllm'], '--engine vllm: expected one model, '
     'which takes the memory of the GPU, found 2. Make a call for each'),
    (['x', *SERVER, *TOKENIZER, '--setting', 'threads=2'], 'an engine that '
     "can load the model 'x', found TypeError: "),
    (['x', '--setting', 'revision=main'], '--setting: expected none that is '
     'called revision, found revision=main. Give the folder'),
    (['x', '--setting', 'a=1', '--setting', 'a=2'], "--setting: expected "
     "every name once, found 'a' twice"),
])  # yapf: disable
def test_bad_input(texts, tmp_path, capsys, options, says):
    assert says in refusal(capsys, *OUT, *options)
    assert not [*tmp_path.glob('out/*')]


def test_names(tmp_path):
    (tmp_path / 'runs/mix/checkpoint-10').mkdir(parents=True)
    assert named_models(['hub/one', 'two=a/b/', 'dir/three/'],
                        f'{tmp_path}/runs/*/*') == {
                            'one': 'hub/one',
                            'two': 'a/b/',
                            'three': 'dir/three/',
                            'mix@10': f'{tmp_path}/runs/mix/checkpoint-10'
                        }
    assert named_models(['a=hub/one'], None, ['step1', 'refs/pr/2']) == {
        'a@step1': 'hub/one@step1',
        'a@refs-pr-2': 'hub/one@refs/pr/2'
    }


def test_revisions(texts, tmp_path, monkeypatch, offline_hub):
    """Of a model in the hub's cache, offline, and in a folder."""
    cache = tmp_path / 'cache/models--lab--mix'
    for step, commit in (('step20', 'a' * 40), ('stage2/step60', 'b' * 40)):
        copy = cache / 'snapshots' / commit
        shutil.copytree(MODEL, copy)
        shutil.copytree(shipped.ZOO / 'd/tokenizer', copy, dirs_exist_ok=True)
        (cache / 'refs' / step).parent.mkdir(parents=True, exist_ok=True)
        (cache / 'refs' / step).write_text(commit)
    monkeypatch.setattr('huggingface_hub.constants.HF_HUB_CACHE',
                        str(tmp_path / 'cache'))
    call = ['losses', '--texts', 'texts.jsonl', '--out', 'out', '--revisions']
    for _ in range(2):  # The second finds the dumps.
        assert main([*call, 'step20', 'stage2/step60', '--', 'lab/mix']) == 0
    info = read_dump('out/mix@stage2-step60.safetensors').info
    assert info.tokenizer == 'lab/mix@stage2/step60'
    assert info.versions['lab/mix'] == f'stage2/step60 ({"b" * 40})'
    (cache / 'snapshots').rename(tmp_path / 'steps')
    assert main([*call, 'a' * 40, '--', 'steps']) == 0
    assert main([*call, 'step99', '--', 'steps']) == 2
    assert main([*call, 'step99', '--', 'lab/mix']) == 2


def test_right_answers_of_requests(tmp_path, monkeypatch, capsys):
    """Their losses are those of the whole texts there; others are missing."""
    monkeypatch.chdir(tmp_path)
    rows = [
        request(doc_id, answer, 1, idx) for doc_id in (0, 1)
        for idx, answer in enumerate((' a lake', f' wind {doc_id}'))
    ]
    packed(tmp_path / 'tasks', rows)
    packed(tmp_path / 'tasks', rows, 'piqa/rc_0shot')
    call = ['losses', f'mine={MODEL}', *TOKENIZER, '--out']
    answers = '--requests', 'tasks', '--tasks', 'arc_*'
    of_texts = '--texts', 'out/texts.jsonl'
    assert not main([*call, 'out', *answers])
    items = read_texts('out/texts.jsonl')
    assert [text.text[slice(*text.answer)]
            for text in items] == [' wind 0', ' wind 1']
    dump = read_dump('out/mine.safetensors')
    assert dump.info.fingerprint == items.fingerprint
    assert not main([*call, 'whole', *of_texts])
    whole = read_dump('whole/mine.safetensors')
    for item, losses, all_losses in zip(items, dump.texts, whole.texts):
        inside = losses.spans.ends > len(item.text) - len(' wind 0')
        assert np.isnan(losses.losses[~inside]).all() and inside.any()
        assert (losses.losses[inside] == all_losses.losses[inside]).all()
    for words, found in ((('out', '--requests', 'tasks'), 'without other tex'),
                         (('out', *of_texts), 'found right answers'),
                         (('whole', *answers), 'found whole texts'),
                         (('out', '--texts', 'x', '--tasks', 'a'), '--tasks')):
        assert found in refusal(capsys, *call, *words)


def test_two_calls_for_one_model(texts, capsys):
    with sole_writer('out/mine.parts'):
        assert 'no other call writes to' in refusal(capsys, *OUT, *TOKENIZER,
                                                    f'mine={MODEL}')
    assert call(f'mine={MODEL}') == 0


TEXTS = TextSet((Text('a', 'Two pears and a plum.'), Text('b', 'No, three.')))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_texts('texts.jsonl', TEXTS)
    tokenizer().save_pretrained('tiny')
    return tmp_path


def check(model, *options):
    """The dump of a call, whose losses are those of the tests' model."""
    assert main([*OUT, f'mine={model}', *options]) == 0
    dump = read_dump('out/mine.safetensors')
    expected = token_losses(make('llama'), tokenizer(), TEXTS.texts)
    for one, other in zip(dump.texts, expected):
        np.testing.assert_allclose(one.losses, other.losses, atol=2e-5)
    return dump.info


@pytest.fixture
def vllm(monkeypatch):
    """Installs a stand-in whose class is called with what a test checks."""

    def install(llm):
        package = stand_ins.package('vllm', SamplingParams=dict, LLM=llm)
        monkeypatch.setitem(sys.modules, 'vllm', package)

    return install


def test_vllm(folder, vllm):

    def llm(*arguments, **settings):
        assert arguments == ('tiny', ) and settings == dict(
            dtype='bfloat16', trust_remote_code=False, tensor_parallel_size=2)
        return stand_ins.LLM()

    vllm(llm)
    info = check('tiny', '--engine', 'vllm', '--dtype', 'bfloat16',
                 '--setting', 'tensor_parallel_size=2')
    assert info.engine == 'vllm'


def test_code_of_a_model_beside_another_tokenizer(folder, vllm, capsys):
    vllm(None)
    (folder / 'model/custom_generate').mkdir(parents=True)
    assert ('found code of its own in custom_generate. Read the code and, if '
            'you trust it, give --trust-remote-code.') in refusal(
                capsys, *OUT, 'model', '--engine', 'vllm', '--tokenizer',
                'tiny')


def test_an_engine_that_does_not_start(folder, vllm, capsys):

    def llm(*_, **settings):
        raise RuntimeError('Failed to load model\nfrom file')

    vllm(llm)
    assert ("expected an engine that can load the model 'tiny', found "
            'RuntimeError: Failed to load model from') in refusal(
                capsys, *OUT, 'a=tiny', '--engine', 'vllm')


SERVED = ['--engine', 'vllm-server', '--tokenizer', 'tiny']


def test_a_server(folder):
    with running(Server()) as server:
        info = check('tiny', *SERVED, '--url', server.url, '--dtype',
                     'float16', '--setting', 'concurrency=2')
    assert info.engine == 'vllm server' and info.dtype == 'float16'


def test_chunks_count_whichever_server_gave_them(folder, interrupted):
    """The address does not matter, nor how many requests it gets."""
    with running(Server()) as server:
        interrupted('mine=tiny', *SERVED, '--url', server.url, '--setting',
                    'concurrency=2')
    with running(Server()) as server:
        check('tiny', *SERVED, '--url', server.url)
        assert not server.requests
