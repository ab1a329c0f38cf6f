"""Where the item of a prompt template begins."""
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csv_plugin.core.conventions import InputError
from csv_plugin.oc.text_sampling.prompts import split_template, worked_examples

WORDS = st.text('ab {}:', min_size=1).filter(str.strip)
PARAGRAPHS = st.lists(WORDS).map(lambda words: '\n\n'.join([*words, '']))


@given(PARAGRAPHS, WORDS, WORDS)
def test_the_paragraph_of_the_first_column_is_the_item(head, before, after):
    item = f'{before}{{x}}{after}\n\n{{y}}'
    parts = split_template(head + item, ['x', 'y'])
    assert (parts.head, parts.item) == (head, item)


def test_examples_go_before_the_item():
    parts = split_template('Hint.\n</E>Q {x}', ['x'], '</E>')
    assert (parts.head, parts.item) == ('Hint.\n</E>', 'Q {x}')
    # The later of both places counts.
    parts = split_template('Hint.</E>\n\nQ {x}', ['x'], '</E>')
    assert parts.item == 'Q {x}'
    parts = split_template('</E>Hint.\n\nQ {x}', ['x'], '</E>')
    assert parts.item == 'Q {x}'


def test_messages_are_read_as_lines():
    template = dict(
        begin=[dict(role='SYSTEM', prompt='Help.'), '</E>'],
        round=[
            dict(role='HUMAN', prompt='Q 1'),
            dict(role='BOT', prompt=''),
            dict(role='BOT', prompt='A 1'),
            dict(role='HUMAN', prompt='Think.\n\nQ {x}'),
            dict(role='BOT', prompt='A'),
        ],
        end='.')
    parts = split_template(template, ['x'], '</E>')
    assert parts.head == 'Help.\n</E>\nQ 1\nA 1\nThink.\n\n'
    assert parts.item == 'Q {x}\nA\n.'


def test_every_label_has_its_template():
    rounds = dict(round=[dict(role='HUMAN', prompt='Hint.\n\n{x} b')])
    parts = split_template({0: 'Hint.\n\n{x} a', 1: rounds}, ['x'])
    assert parts.head == 'Hint.\n\n'
    assert parts.item == {0: '{x} a', 1: '{x} b'}
    with pytest.raises(InputError, match='answered in free text'):
        worked_examples(parts, ['x'])


@pytest.mark.parametrize('template, message', [
    ('Q {y}', r"one of the columns \['x'\]"),
    ({'A': 'Q {x}', 'B': 'Q'}, r"one of the columns \['x'\]"),
    ([dict(role='user', content='{x}')], 'a text, rounds or labels'),
])  # yapf: disable
def test_templates_without_an_item(template, message):
    with pytest.raises(InputError, match=message):
        split_template(template, ['x'])


@pytest.mark.parametrize('template', [
    'Q {x}\n</E>A:',
    'Of {x}.\n\n</E>Q {y}',
    {
        'A': '</E>{x} a',
        'B': '{x}</E> b'
    },
    dict(round=[
        dict(role='HUMAN', prompt='Q {x}'),
        dict(role='BOT', prompt='</E>A')
    ]),
])
def test_examples_behind_a_column_are_refused(template):
    with pytest.raises(
            InputError, match="'</E>' before all .*, found it behind '{x}"):
        split_template(template, ['x', 'y'], '</E>')


ITEM = 'Q: {x}\nUnit: {y}\nA: Think.'


@given(
    st.lists(
        st.tuples(*[st.text('ab?\n{', min_size=1).map(str.strip)] *
                  3).filter(lambda e: all(e) and '\n\n' not in ''.join(e)),
        min_size=1,
        max_size=4), st.sampled_from(['', 'Do sums.\n\n', 'A FAQ: sums.\n\n']))
def test_examples_are_found_in_the_form_of_the_item(examples, hint):
    shown = [(ITEM.format(x=x, y=y) + '\n', a) for x, y, a in examples]
    head = hint + '\n\n'.join(map(''.join, shown)) + '\n\n'
    parts = split_template(head + ITEM, ['x', 'y'])
    assert worked_examples(parts, ['x', 'y']) == shown


def test_no_examples():
    parts = split_template('Q: 1\nB: 2\n\nQ: {x}\nA:', ['x'])
    with pytest.raises(InputError, match='worked examples .*none'):
        worked_examples(parts, ['x'])
