"""Losses from every engine that `salience losses` names."""
import sys

import numpy as np
import pytest

pytest.importorskip('transformers')

from csv_plugin.cli import score_models  # noqa: E402
from csv_plugin.cli.salience import main  # noqa: E402
from csv_plugin.core.texts import Text, TextSet  # noqa: E402
from csv_plugin.io.dumps import read_dump  # noqa: E402
from csv_plugin.io.text_sets import write_texts  # noqa: E402
from csv_plugin.lm.engines.token_losses import token_losses  # noqa: E402
from tests.extras.engines.servers import Server, SGLang, running  # noqa: E402
from tests.lm.engines import stand_ins  # noqa: E402
from tests.lm.models import make, tokenizer  # noqa: E402

TEXTS = TextSet((Text('a', 'Two pears and a plum.'), Text('b', 'No, three.')))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Texts, and a model's folder that holds its tokenizer alone."""
    monkeypatch.chdir(tmp_path)
    write_texts('texts.jsonl', TEXTS)
    tokenizer().save_pretrained('tiny')
    return tmp_path


def check(model, *options):
    """The dump of a call, whose losses are those of the tests' model."""
    assert main(['losses', f'mine={model}', '--texts', 'texts.jsonl', '--out',
                 'out', *options]) == 0  # yapf: disable
    dump = read_dump('out/mine.safetensors')
    expected = token_losses(make('llama'), tokenizer(), TEXTS.texts)
    for one, other in zip(dump.texts, expected):
        np.testing.assert_allclose(one.losses, other.losses, atol=2e-5)
    return dump.info


def test_vllm(folder, monkeypatch):

    def llm(*arguments, **settings):
        assert arguments == ('tiny', ) and settings == dict(
            dtype='bfloat16', trust_remote_code=False, tensor_parallel_size=2)
        return stand_ins.LLM()

    package = stand_ins.package('vllm', SamplingParams=dict, LLM=llm)
    monkeypatch.setitem(sys.modules, 'vllm', package)
    info = check('tiny', '--engine', 'vllm', '--dtype', 'bfloat16',
                 '--setting', 'tensor_parallel_size=2')
    assert info.engine == 'vllm'


def test_code_of_a_model_beside_another_tokenizer(folder, monkeypatch, capsys):
    package = stand_ins.package('vllm', LLM=None)
    monkeypatch.setitem(sys.modules, 'vllm', package)
    (folder / 'model/custom_generate').mkdir(parents=True)
    assert main(['losses', 'model', '--texts', 'texts.jsonl', '--out', 'out',
                 '--engine', 'vllm', '--tokenizer', 'tiny']
                ) == 2  # yapf: disable
    assert ('found code of its own in custom_generate. Read the code and, if '
            'you trust it, give --trust-remote-code.'
            ) in capsys.readouterr().err  # yapf: disable


def test_llama_cpp(folder, monkeypatch):
    package = stand_ins.package('llama_cpp', Llama=stand_ins.Llama)
    monkeypatch.setitem(sys.modules, 'llama_cpp', package)
    info = check('m.gguf', '--engine', 'llama-cpp', '--setting', 'context=64',
                 '--tokenizer', 'tiny')
    assert info.engine == 'llama.cpp' and info.context == 64


@pytest.mark.parametrize('settings', [[], ['context=64', 'threads=2']])
def test_settings_that_an_engine_needs_or_does_not_have(
        folder, monkeypatch, capsys, settings):
    package = stand_ins.package('llama_cpp', Llama=stand_ins.Llama)
    monkeypatch.setitem(sys.modules, 'llama_cpp', package)
    options = [word for each in settings for word in ('--setting', each)]
    assert main(['losses', 'm.gguf', '--texts', 'texts.jsonl', '--out', 'out',
                 '--engine', 'llama-cpp', '--tokenizer', 'tiny', *options]
                ) == 2  # yapf: disable
    assert ('expected the settings that it needs and knows, found the error'
            ) in capsys.readouterr().err  # yapf: disable


def test_an_engine_that_does_not_start(folder, monkeypatch, capsys):

    def llama(model_path, **_):
        if model_path == 'broken.gguf':
            raise RuntimeError('Failed to load model\nfrom file')
        return stand_ins.Llama(model_path, **_)

    package = stand_ins.package('llama_cpp', Llama=llama)
    monkeypatch.setitem(sys.modules, 'llama_cpp', package)
    assert main(['losses', 'a=broken.gguf', 'b=m.gguf', '--texts',
                 'texts.jsonl', '--out', 'out', '--engine', 'llama-cpp',
                 '--setting', 'context=64', '--tokenizer', 'tiny']
                ) == 2  # yapf: disable
    captured = capsys.readouterr()
    assert ("expected an engine that starts with the model 'broken.gguf', "
            'found RuntimeError: Failed to load model from'
            ) in captured.err  # yapf: disable
    assert captured.out.startswith('b: 2 texts')


@pytest.mark.parametrize('options, says', [
    (['--engine', 'vllm'], '--engine vllm: expected one model, which takes '
     'the memory of the GPU, found 2. Make a call for each model.'),
    (['--setting', 'revision=main'], '--setting: expected none that is '
     'called revision, found revision=main. Give the folder'),
    (['--setting', 'a=1', '--setting', 'a=2'], "--setting: expected every "
     "name once, found 'a' twice"),
])
def test_what_is_refused_at_once(folder, capsys, options, says):
    assert main(['losses', 'a', 'b', '--texts', 'texts.jsonl', '--out', 'out',
                 *options]) == 2  # yapf: disable
    error, = capsys.readouterr().err.splitlines()
    assert says in error


@pytest.mark.parametrize('kind, engine', [(Server, 'vllm-server'),
                                          (SGLang, 'sglang-server')])
def test_servers(folder, kind, engine):
    with running(kind()) as server:
        info = check('tiny', '--engine', engine, '--url', server.url,
                     '--tokenizer', 'tiny', '--dtype', 'float16', '--setting',
                     'concurrency=2')
    assert info.engine == engine.replace('-', ' ')
    assert info.dtype == 'float16'


def test_chunks_count_whichever_server_gave_them(folder, monkeypatch):
    """The address does not matter, nor how many requests it gets."""

    def stop(*_):
        raise KeyboardInterrupt

    options = ['--engine', 'vllm-server', '--tokenizer', 'tiny']
    with running(Server()) as server, monkeypatch.context() as patch:
        patch.setattr(score_models, 'write_dump', stop)
        assert main(['losses', 'mine=tiny', '--texts', 'texts.jsonl', '--out',
                     'out', *options, '--url', server.url, '--setting',
                     'concurrency=2']) == 130  # yapf: disable
    with running(Server()) as server:
        check('tiny', *options, '--url', server.url)
        assert not server.requests
