"""Files that transformers 5 wrote, under the version that is installed."""
import json
import re
import shutil
from functools import cache

import numpy as np
import pytest
import transformers

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text
from csv_plugin.lm.engines.token_losses import token_losses
from csv_plugin.lm.loading import check_files, load_causal_lm, load_tokenizer
from tests.lm.models import make, tokenizer
from tests.lm.newer_folders import (PAIRS, UNREADABLE, VERSION, rewrite,
                                    rewrite_tokenizer, save_pair)

TEXTS = [Text('t', 'the cat sat on the mat 天气很好, ' * 3)]

pytestmark = pytest.mark.skipif(
    transformers.__version__ >= '5', reason='It reads them itself')


def losses_of(folder):
    model = load_causal_lm(folder)
    return token_losses(model, tokenizer(), TEXTS)[0].losses


@pytest.fixture(scope='module')
def pair(tmp_path_factory):
    """Saves the folders of a name once. Tests do not change them."""
    return cache(lambda name: save_pair(tmp_path_factory.mktemp('pair'), name))


@pytest.fixture
def llama(pair, tmp_path):
    return shutil.copytree(pair('theta')[1], tmp_path / 'llama')


@pytest.mark.parametrize('name', PAIRS)
def test_losses_are_those_that_the_writer_means(name, pair, tmp_path):
    """Also where what the error says is written into config.json."""
    old, new = pair(name)
    expected = losses_of(old)
    assert np.array_equal(losses_of(new), expected)
    # That of the installed version alone would not be.
    kind = getattr(transformers, f'{PAIRS[name][0]}ForCausalLM')
    unread = kind.from_pretrained(new)
    assert 'rope_parameters' in vars(unread.config)
    with pytest.raises(InputError, match='found rope_parameters of transf'):
        token_losses(unread, tokenizer(), TEXTS)
    check_files(old)
    with pytest.raises(InputError) as error:
        check_files(new)
    unread = f'{VERSION}, which {transformers.__version__} does not read'
    assert f'of transformers {unread}' in str(error.value)
    file = shutil.copytree(new, tmp_path / 'new') / 'config.json'
    said = re.search(r'does not read; the file needs (.*)\. Add',
                     str(error.value))
    file.write_text(
        json.dumps(
            json.loads(file.read_text()) | json.loads(f'{{{said[1]}}}')))
    check_files(file.parent)
    # By this version alone, too.
    cured = kind.from_pretrained(file.parent)
    assert np.array_equal(
        token_losses(cured, tokenizer(), TEXTS)[0].losses, expected)


@pytest.mark.parametrize('rope', UNREADABLE.values(), ids=list(UNREADABLE))
@pytest.mark.parametrize('look', [check_files, load_causal_lm])
def test_what_cannot_be_said_to_this_version_is_refused(llama, rope, look):
    rewrite(llama, rope_parameters=rope)
    # Before weights are read.
    (llama / 'model.safetensors').write_bytes(b'')
    with pytest.raises(
            InputError,
            match=f'transformers {transformers.__version__} reads in full, '
            f'found rope_parameters = .* of transformers {VERSION}, which '
            f'{transformers.__version__} does not read. Use the version '
            'that') as error:
        look(llama)
    assert '\n' not in str(error.value)


def test_defaults_of_both_versions_are_read(llama):
    for theta in (10000.0, 10000):
        rewrite(
            llama,
            rope_parameters=dict(rope_type='default', rope_theta=theta),
            dtype='float32')
        check_files(llama)
        losses_of(llama)


def test_a_config_inside_a_config():
    """That of the language model, beside that of its eyes."""
    config = transformers.Gemma3Config(
        text_config=dict(
            rope_parameters=dict(
                full_attention=dict(rope_type='default', rope_theta=7.),
                sliding_attention=dict(rope_type='default', rope_theta=3.))))
    from csv_plugin.lm.newer_files import check_read, read_as_written
    with pytest.raises(
            InputError,
            match='"text_config": {"rope_theta": 7.0, .*_freq": 3.0}'):
        check_read(config)
    config.transformers_version = VERSION
    read_as_written(config)
    text = config.text_config
    assert (text.rope_theta, text.rope_local_base_freq) == (7, 3)
    check_read(config)


@pytest.mark.parametrize(
    'written, settings, refused',
    [
        (VERSION, dict(attention_window=4), True),
        (VERSION, dict(layer_types=['full_attention', 'sliding_attention']),
         True),
        (VERSION, dict(swiglu_limit=5.0), True),
        # Off, of no consequence, or what this version does by itself.
        (VERSION, dict(attention_window=None, attention_sinks=0), False),
        (VERSION, dict(layer_types=2 * ['full_attention']), False),
        (VERSION, dict(swiglu_limit=7.0, unsloth_version='2026.1'), False),
        # Its writer did not read it either.
        ('4.40.0', dict(attention_window=4), False),
        (transformers.__version__, dict(attention_window=4), False),
    ])
def test_any_other_setting_that_is_unread(llama, written, settings, refused):
    rewrite(llama, rope_theta=5e5, **settings, transformers_version=written)
    if not refused:
        check_files(llama)
        losses_of(llama)
        return
    name, value = *settings, *settings.values()
    for look in (check_files, load_causal_lm):
        with pytest.raises(
                InputError,
                match=re.escape(f'{name} = {value!r} of transformers {VERSION}'
                                f', which {transformers.__version__} '
                                'does not read')):
            look(llama)


def test_a_file_that_contradicts_itself_is_refused(llama):
    """This version has written on what a newer one had written."""
    rewrite(
        llama,
        rope_theta=1e4,
        rope_parameters=dict(rope_type='default', rope_theta=5e5),
        transformers_version=transformers.__version__)
    with pytest.raises(InputError, match='needs "rope_theta": 500000.0'):
        load_causal_lm(llama)


def test_other_programs_write_no_version(llama, pair):
    """Such as levanter, which once left `rope_theta` empty."""
    rewrite(
        llama,
        rope_theta=None,
        rope_parameters=dict(rope_theta=5e5),
        transformers_version=None)
    assert np.array_equal(losses_of(llama), losses_of(pair('theta')[0]))


@pytest.mark.parametrize('look', [check_files, load_causal_lm])
def test_a_model_that_only_newer_versions_have(llama, look):
    rewrite(llama, model_type='llama9')
    with pytest.raises(
            InputError,
            match=f'found ValueError: .*`llama9`.* use transformers {VERSION},'
            ' which wrote them, in an environment without OpenCompass'):
        look(llama)


@pytest.mark.parametrize('extra', [[], ['<extra>']])
@pytest.mark.parametrize('kind', ['TokenizersBackend', 'NewTokenizer'])
def test_a_tokenizer_is_what_its_tokenizer_json_says(llama, kind, extra):
    rewrite_tokenizer(llama, tokenizer_class=kind, extra_special_tokens=extra)
    loaded, expected = load_tokenizer(llama), tokenizer()
    text = TEXTS[0].text
    assert loaded(text).input_ids == expected(text).input_ids
    assert loaded.eos_token_id == expected.eos_token_id
    assert loaded.additional_special_tokens == extra
    # Others cannot load it: the line says what to write.
    rewrite(llama, rope_theta=5e5)
    with pytest.raises(
            InputError,
            match='Write "tokenizer_class": "PreTrainedTokenizerFast"') as e:
        check_files(llama)
    file = llama / 'tokenizer_config.json'
    said = re.search('Write (.*) into that', str(e.value))[1]
    file.write_text(
        json.dumps(json.loads(file.read_text()) | json.loads(f'{{{said}}}')))
    check_files(llama)
    other = transformers.AutoTokenizer.from_pretrained(llama)
    assert other(text).input_ids == expected(text).input_ids


def test_a_tokenizer_of_transformers_5_without_its_file(llama):
    rewrite_tokenizer(llama)
    (llama / 'tokenizer.json').unlink()
    rewrite(llama, rope_theta=5e5)
    for look in (load_tokenizer, check_files):
        with pytest.raises(
                InputError,
                match="a tokenizer.json, or .* found only the class 'Tokeniz"):
            look(llama)


def test_a_tokenizer_in_another_folder_is_looked_at(tmp_path):
    make('llama').save_pretrained(tmp_path / 'model')
    tokenizer().save_pretrained(tmp_path / 'tokens')
    check_files(tmp_path / 'model', tmp_path / 'tokens')
    rewrite_tokenizer(tmp_path / 'tokens')
    with pytest.raises(InputError, match="^tokenizer '.*/tokens'"):
        check_files(tmp_path / 'model', tmp_path / 'tokens')


def test_files_that_are_not_here_are_not_looked_for(tmp_path):
    check_files(tmp_path)
    check_files('lab/no-such-model')
