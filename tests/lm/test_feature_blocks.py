"""Columns of a scoring LM, and what `auto` is offered."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.capability import capability_score
from csv_plugin.core.errors import InputError
from csv_plugin.core.features import answer_mask
from csv_plugin.core.losses import LossTable
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.lm.feature_blocks import (feature_blocks, state_columns,
                                          target_tokens, token_states)
from csv_plugin.lm.hidden_states import (StateScale, accumulate_phi,
                                         hidden_states)
from .models import make, tokenizer

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
    model, made, targets, _, states = world
    assert len(states) == targets.n_tokens
    starts = np.append(0, np.cumsum([len(spans) for spans in targets.spans]))
    for chunk in hidden_states(model, made, TEXTS.texts):
        first = starts[chunk.text] + chunk.first
        np.testing.assert_array_equal(states[first:first + len(chunk.states)],
                                      chunk.states)


def test_columns_are_those_of_phi(world):
    """Up to the tokens that the states are standardised over."""
    model, made, _, table, states = world
    columns = state_columns(states, table)
    features = columns.features(table)
    assert columns.scored.tolist() == table.scored.tolist()
    np.testing.assert_allclose(
        features.values @ columns.uniform,
        capability_score(
            np.where(table.scored, table.losses, 0), np.ones(len(states)),
            table.n_chars.sum()))
    phi, scale = accumulate_phi(hidden_states(model, made, TEXTS.texts), table)
    ours = StateScale.of(states[table.scored].astype(float))
    # phi_ours = (phi * spread + mean loss * (mean - our mean)) / our spread
    loss = phi.values[:, :1]
    expected = (phi.values[:, 1:] * scale.spread + loss *
                (scale.mean - ours.mean)) / ours.spread
    np.testing.assert_allclose(
        features.values[:, 1:], expected, rtol=1e-5, atol=1e-5)


def test_tokens_outside_a_part_have_no_weight(world):
    _, _, targets, table, states = world
    part = answer_mask(TEXTS, targets.spans)
    columns = state_columns(states, table, part)
    dense = columns.matrix.toarray()
    assert not dense[~part].any() and (dense[part, 0] > 0).all()
    np.testing.assert_allclose(
        dense[part, 1:].mean(axis=0) * table.n_chars.sum(), 0, atol=1e-6)


def test_a_state_for_every_token_is_needed(world):
    _, _, _, table, states = world
    with pytest.raises(InputError, match='one a token, found'):
        state_columns(states[1:], table)


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
        np.testing.assert_array_equal(columns.matrix.toarray().any(axis=1),
                                      part)
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
    assert names == [
        'groups', 'texts', 'answers of facts', 'states', 'answer states'
    ]


def test_without_answers_there_are_no_answer_states(world):
    _, _, targets, table, states = world
    plain = TextSet(tuple(Text(t.text_id, t.text, t.source) for t in TEXTS))
    names = [b.name for b in feature_blocks(table, plain, targets, states)]
    assert names == ['groups', 'texts', 'states']
