"""From a model to a dump to feature columns; parts join to the whole."""
import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import text_columns
from csv_plugin.core.losses import TargetTokens
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.dumps import merge_dumps, read_dump, read_dumps, write_dump
from csv_plugin.lm.dumping import dump_losses
from csv_plugin.lm.tokens.tokenization import tokenize_all
from tests.lm import models
from tests.lm.tokens import tokenizers

TEXTS = TextSet(
    tuple(
        Text(f't{i}', text) for i, text in enumerate(
            ['The answer is 5.', '中文，三个字。', 'a', 'long ' * 40, '🤦🏽 here'])))


@pytest.fixture(scope='module')
def tokenizer():
    return models.tokenizer()


def test_a_dump_says_how_it_was_made(tokenizer):
    model = models.make('llama')
    info = dump_losses(
        model, tokenizer, TEXTS, name='lab/tiny', context=50).info
    assert info.fingerprint == TEXTS.fingerprint
    assert info.model == 'lab/tiny'
    assert info.prefix == f'bos {tokenizer.bos_token_id}'
    assert (info.dtype, info.context, info.stride) == ('float32', 50, 25)
    assert {'csv_plugin', 'torch', 'transformers'} <= set(info.versions)
    own = dump_losses(model.bfloat16(), tokenizer, TEXTS).info
    assert (own.dtype, own.context) == ('bfloat16', models.CONTEXT)


def test_only_tokenizers_of_transformers(tokenizer):
    """One of the package `tokenizers` tells nothing to record."""
    with pytest.raises(InputError, match='transformers, found a Tokenizer'):
        dump_losses(models.make('llama'), tokenizer.backend_tokenizer, TEXTS)


def test_parts_join_to_the_whole(tokenizer, tmp_path):
    model = models.make('llama')
    whole = dump_losses(model, tokenizer, TEXTS, entropy=True, rank=True)
    shards = []
    for k in range(2):
        path = tmp_path / f'{k}.safetensors'
        write_dump(
            path,
            dump_losses(
                model,
                tokenizer,
                TEXTS,
                TEXTS.texts[k::2],
                entropy=True,
                rank=True))
        shards.append(read_dump(path))
    joined = merge_dumps(shards[::-1], TEXTS)
    assert joined.info == whole.info
    for text, expected in zip(joined.texts, whole.texts):
        assert text.text_id == expected.text_id
        assert text.sha256 == expected.sha256
        np.testing.assert_allclose(text.losses, expected.losses, atol=1e-5)
        np.testing.assert_allclose(text.entropy, expected.entropy, atol=1e-4)
        np.testing.assert_array_equal(text.token_ids, expected.token_ids)
        np.testing.assert_array_equal(text.rank, expected.rank)


def test_models_with_different_tokenizers_share_one_table(tmp_path):
    """Algorithm 1 keeps the loss of a model on each text."""
    paths, sums = {}, {}
    for name, tokenizer in (('byte-level', models.tokenizer()),
                            ('byte-fallback',
                             tokenizers.byte_fallback('always'))):
        vocabulary = max(len(tokenizer), models.VOCABULARY)
        dump = dump_losses(
            models.make('llama', vocab_size=vocabulary), tokenizer, TEXTS)
        paths[name] = tmp_path / f'{name}.safetensors'
        write_dump(paths[name], dump)
        sums[name] = [np.nansum(text.losses) for text in dump.texts]
    spans = [t.spans for t in tokenize_all(models.tokenizer(), TEXTS.texts)]
    dumps = read_dumps(paths, TEXTS)
    table = TargetTokens.of(TEXTS, spans).table({
        name: dump.texts
        for name, dump in dumps.items()
    })
    features = text_columns(table).features(table)
    n_chars = np.array([len(text.text) for text in TEXTS])
    for row, name in enumerate(table.models):
        np.testing.assert_allclose(
            features.values[row] * n_chars, sums[name], rtol=1e-5)
    fewer = TextSet(TEXTS.texts[1:])
    with pytest.raises(InputError, match="unknown texts, 't0'"):
        read_dumps(paths, fewer)
