"""The feature columns that `auto` is offered."""
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csc_array

from csv_plugin.core.features import answer_mask
from csv_plugin.core.losses import LossTable
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.lm.hidden_states import hidden_states
from csv_plugin.lm.methods import feature_sets
from csv_plugin.lm.tokens.tokenization import target_tokens
from tests.lm.models import make, tokenizer

TEXTS = TextSet(
    (Text('a', 'How many pears? 7.', 'sums',
          (16, 17)), Text('b', 'Where? In 石桥.', 'facts',
                          (10, 12)), Text('c', 'No answer here.', 'facts')))


@pytest.fixture(scope='module')
def world():
    targets = target_tokens(tokenizer(), TEXTS)
    rng = np.random.default_rng(0)
    counts = [len(spans) for spans in targets.spans]
    losses = rng.uniform(.5, 3, (4, sum(counts)))
    losses[1, 2] = np.nan
    lengths = np.array([len(text.text) for text in TEXTS])
    n_bytes = np.array([spans.n_bytes for spans in targets.spans])
    table = LossTable(('k', 'l', 'm', 'n'), TEXTS.ids, losses,
                      np.append(0, np.cumsum(counts)), lengths, n_bytes,
                      TEXTS.fingerprint)  # yapf: disable
    return targets, table, hidden_states(
        make('llama'), tokenizer(), TEXTS.texts)


def test_what_auto_is_offered(world):
    targets, table, states = world
    offered = [(block.name, [solver.name for solver in block.solvers])
               for block in feature_sets(table, TEXTS, targets, states)]
    assert offered == [('groups', ['nonnegative', 'ridge']),
                       ('texts', ['ridge']),
                       ('answers of facts', ['ridge']),
                       ('answers of sums', ['ridge']), ('states', ['ridge']),
                       ('answer states', ['ridge'])]  # yapf: disable
    groups, texts, facts, sums = feature_sets(table, TEXTS, targets)
    assert groups.units == ('facts/answer', 'facts/text', 'sums/answer',
                            'sums/text')
    assert texts.units == TEXTS.ids
    assert facts.units == ('b', )
    assert sums.units == ('a', )


@pytest.mark.parametrize('with_states', [True, False])
def test_answers_of_a_source_alone(world, with_states):
    """Shrunk toward the label-token loss of that source."""
    targets, table, states = world
    sources_by_name = {
        block.name: block.source
        for block in feature_sets(table, TEXTS, targets,
                                  states if with_states else None)
    }
    sources = np.repeat([text.source for text in TEXTS],
                        [len(spans) for spans in targets.spans])
    answers = answer_mask(TEXTS, targets.spans)
    for source in ('facts', 'sums'):
        made_by = sources_by_name[f'answers of {source}']
        columns = made_by.columns
        part = answers & (sources == source)
        assert part.any()
        np.testing.assert_array_equal(columns.scored, table.scored)
        uniform = made_by.combine(csc_array(columns.uniform[:, None]))
        np.testing.assert_array_equal(uniform.toarray()[:, 0] > 0, part)
        features = made_by.features(table)
        np.testing.assert_allclose(
            features.mean_loss,
            table.losses[:, part].sum(axis=1) / table.n_chars.sum())


def names_of(*arguments):
    return [block.name for block in feature_sets(*arguments)]


def test_answers_that_a_model_did_not_score_are_left_out(world):
    """No block of a source without a scored answer, nor of all answers."""
    targets, table, states = world
    sources = np.repeat([text.source for text in TEXTS],
                        [len(spans) for spans in targets.spans])
    lost = answer_mask(TEXTS, targets.spans) & (sources == 'sums')
    fewer = replace(table, losses=np.where(lost, np.nan, table.losses))
    assert names_of(fewer, TEXTS, targets, states) == [
        'groups', 'texts', 'answers of facts', 'states'
    ]
    plain = TextSet(
        tuple(Text(text.text_id, text.text, text.source) for text in TEXTS))
    assert names_of(table, plain, targets,
                    states) == ['groups', 'texts', 'states']
