"""GGUF files, as the package gguf writes them."""
import numpy as np
import pytest
from transformers import AutoTokenizer

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text
from csv_plugin.lm.loading import load_causal_lm, load_tokenizer
from csv_plugin.lm.tokens.tokenization import tokenize_all

gguf = pytest.importorskip('gguf')

STARTS, ENDS = ('▁t', '▁c', '▁s'), ('he', 'at', 'it')
PIECES = ['<unk>', '<s>', '</s>', *STARTS, *ENDS,
          *(start + end for start in STARTS for end in ENDS),
          *'▁tcsheai']  # yapf: disable
WIDTH = 8


def write(path, architecture):
    """A model of one layer; its scores are those of SentencePiece's BPE."""
    writer = gguf.GGUFWriter(path, architecture)
    for name, value in (('context_length', 64), ('embedding_length', WIDTH),
                        ('block_count', 1), ('feed_forward_length', 16),
                        ('head_count', 2), ('head_count_kv',
                                            2), ('vocab_size', len(PIECES))):
        getattr(writer, f'add_{name}')(value)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_key_length(4)
    writer.add_tokenizer_model('llama')
    writer.add_token_list(PIECES)
    writer.add_token_scores([0., 0., 0., *(-float(i) for i in range(
        len(PIECES) - 3))])  # yapf: disable
    writer.add_token_types([2, 3, 3, *[1] * (len(PIECES) - 3)])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    random = np.random.default_rng(0)
    shapes = {'token_embd': (len(PIECES), WIDTH), 'output_norm': (WIDTH, ),
              'output': (len(PIECES), WIDTH),
              **{f'blk.0.{norm}_norm': (WIDTH, ) for norm in ('attn', 'ffn')},
              **{f'blk.0.attn_{part}': (WIDTH, WIDTH)
                 for part in ('q', 'k', 'v', 'output')},
              'blk.0.ffn_gate': (16, WIDTH), 'blk.0.ffn_up': (16, WIDTH),
              'blk.0.ffn_down': (WIDTH, 16)}  # yapf: disable
    for name, shape in shapes.items():
        writer.add_tensor(f'{name}.weight',
                          random.normal(size=shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_a_model_and_its_tokenizer(tmp_path):
    file = tmp_path / 'mine.gguf'
    write(file, 'llama')
    tokenizer = load_tokenizer(file)
    assert tokenizer.tokenize('the cat sat') == ['▁the', '▁cat', '▁sat']
    model = load_causal_lm(file, dtype='float32')
    assert model.name_or_path == tokenizer.name_or_path == str(file)
    assert model.config.vocab_size == len(PIECES)


def test_a_tokenizer_that_transformers_reads_wrongly(tmp_path):
    """Transformers 5 reads it rightly, and then nothing is refused."""
    file = tmp_path / 'gemma.gguf'
    write(file, 'gemma3')
    loaded = AutoTokenizer.from_pretrained(tmp_path, gguf_file=file.name)
    texts = [Text('a', 'the cat')]
    if '▁cat' in loaded.tokenize(texts[0].text):
        assert tokenize_all(load_tokenizer(file), texts)
        return
    with pytest.raises(InputError, match='in pieces. Give the tokenizer'):
        load_tokenizer(file)
    # Loaded by the user, it is refused with the first text.
    with pytest.raises(InputError, match='in pieces. Give the tokenizer'):
        tokenize_all(loaded, texts)
