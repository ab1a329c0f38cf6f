"""Columns of a scoring LM, and what `auto` is offered."""
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import csc_array

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import answer_mask
from csv_plugin.core.losses import LossTable
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.lm.feature_blocks import (feature_blocks, load_scoring_lm,
                                          target_tokens, token_states)
from csv_plugin.lm.states.hidden_states import (StateScale, accumulate_phi,
                                                hidden_states)
from csv_plugin.lm.states.state_columns import StateColumns
from tests.lm.models import make, tokenizer

TEXTS = TextSet(
    (Text('a', 'How many pears? 7.', 'sums',
          (16, 17)), Text('b', 'Where? In 石桥.', 'facts',
                          (10, 12)), Text('c', 'No answer here.', 'facts')))


@pytest.fixture(scope='module')
def world():
    model, made = make('llama'), tokenizer()
    targets = target_tokens(made, TEXTS)
    rng = np.random.default_rng(0)
    counts = [len(spans) for spans in targets.spans]
    losses = rng.uniform(.5, 3, (4, sum(counts)))
    losses[1, 2] = np.nan
    lengths = np.array([len(text.text) for text in TEXTS])
    n_bytes = np.array([spans.n_bytes for spans in targets.spans])
    table = LossTable(('k', 'l', 'm', 'n'), TEXTS.ids, losses,
                      np.append(0, np.cumsum(counts)), lengths, n_bytes,
                      TEXTS.fingerprint)  # yapf: disable
    return model, made, targets, table, token_states(model, made, TEXTS)


def test_states_of_all_tokens_in_order(world):
    """Shortest text first, though the scoring LM reads the longest first."""
    model, made, _, _, _ = world
    texts = TextSet(TEXTS.texts[::-1])
    states = token_states(model, made, texts)
    targets = target_tokens(made, texts)
    assert states.dtype == torch.float32
    counts = [len(spans) for spans in targets.spans]
    assert len(states) == targets.n_tokens and counts[0] < counts[-1]
    starts = np.append(0, np.cumsum(counts))
    for chunk in hidden_states(model, made, texts.texts):
        first = starts[chunk.text] + chunk.first
        np.testing.assert_array_equal(states[first:first + len(chunk.states)],
                                      chunk.states)


def test_columns_are_those_of_phi(world):
    """Up to the tokens that the states are standardised over."""
    model, made, _, table, states = world
    columns = StateColumns.of(states, table)
    features = columns.features(table)
    assert columns.scored.tolist() == table.scored.tolist()
    np.testing.assert_allclose(
        features.values @ columns.uniform,
        table.losses[:, table.scored].sum(axis=1) / table.n_chars.sum())
    phi, scale = accumulate_phi(hidden_states(model, made, TEXTS.texts), table)
    ours = StateScale.of(states.double().numpy()[table.scored])
    # phi_ours = (phi * spread + mean loss * (mean - our mean)) / our spread
    loss = phi.values[:, :1]
    expected = (phi.values[:, 1:] * scale.spread + loss *
                (scale.mean - ours.mean)) / ours.spread
    np.testing.assert_allclose(
        features.values[:, 1:], expected, rtol=1e-5, atol=1e-5)


def test_what_auto_is_offered(world):
    _, _, targets, table, states = world
    offered = [(block.name, [solver.name for solver in block.solvers])
               for block in feature_blocks(table, TEXTS, targets, states)]
    assert offered == [('groups', ['nonnegative', 'ridge']),
                       ('texts', ['ridge']),
                       ('answers of facts', ['ridge']),
                       ('answers of sums', ['ridge']), ('states', ['ridge']),
                       ('answer states', ['ridge'])]  # yapf: disable
    groups, texts, facts, sums = feature_blocks(table, TEXTS, targets)
    assert groups.columns.units == ('facts/answer', 'facts/text',
                                    'sums/answer', 'sums/text')
    assert texts.columns.units == TEXTS.ids
    assert facts.columns.units == ('b', )
    assert sums.columns.units == ('a', )


@pytest.mark.parametrize('with_states', [True, False])
def test_answers_of_a_source_alone(world, with_states):
    """Shrunk toward the label-token loss of that source."""
    _, _, targets, table, states = world
    blocks = {
        block.name: block.columns
        for block in feature_blocks(table, TEXTS, targets,
                                    states if with_states else None)
    }
    sources = np.repeat([text.source for text in TEXTS],
                        [len(spans) for spans in targets.spans])
    answers = answer_mask(TEXTS, targets.spans)
    for source in ('facts', 'sums'):
        columns = blocks[f'answers of {source}']
        part = answers & (sources == source)
        assert part.any()
        np.testing.assert_array_equal(columns.scored, table.scored)
        uniform = columns.combine(csc_array(columns.uniform[:, None]))
        np.testing.assert_array_equal(uniform.toarray()[:, 0] > 0, part)
        features = columns.features(table)
        np.testing.assert_allclose(
            features.values @ columns.uniform,
            table.losses[:, part].sum(axis=1) / table.n_chars.sum())


def test_answers_that_a_model_did_not_score_are_left_out(world):
    """No block of a source without a scored answer."""
    _, _, targets, table, states = world
    sources = np.repeat([text.source for text in TEXTS],
                        [len(spans) for spans in targets.spans])
    lost = answer_mask(TEXTS, targets.spans) & (sources == 'sums')
    fewer = replace(table, losses=np.where(lost, np.nan, table.losses))
    names = [b.name for b in feature_blocks(fewer, TEXTS, targets, states)]
    # Nor one of all answers, which would be those of one source.
    assert names == ['groups', 'texts', 'answers of facts', 'states']


def test_without_answers_there_are_no_answer_states(world):
    _, _, targets, table, states = world
    plain = TextSet(tuple(Text(t.text_id, t.text, t.source) for t in TEXTS))
    names = [b.name for b in feature_blocks(table, plain, targets, states)]
    assert names == ['groups', 'texts', 'states']


@pytest.mark.parametrize('apart', [False, True])
def test_a_scoring_lm_is_loaded_from_its_folder(tmp_path, apart):
    """With its tokenizer or one that lies elsewhere."""
    make('llama').half().save_pretrained(tmp_path / 'model')
    folder = tmp_path / ('tokenizer' if apart else 'model')
    tokenizer().save_pretrained(folder)
    model, made = load_scoring_lm(tmp_path / 'model',
                                  folder if apart else None)
    assert model.dtype == (
        torch.bfloat16 if torch.cuda.is_available() else torch.float32)
    assert made('a dog')['input_ids'] == tokenizer()('a dog')['input_ids']


def test_a_folder_without_a_scoring_lm_is_one_line(tmp_path):
    with pytest.raises(InputError, match='a causal LM and its token') as error:
        load_scoring_lm(tmp_path)
    assert str(tmp_path) in str(error.value)
    assert '\n' not in str(error.value)
