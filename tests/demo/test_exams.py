"""The exams of the small world, as OpenCompass reads and grades them."""
import pytest
from mmengine.config import Config
from opencompass.registry import TEXT_POSTPROCESSORS

from csv_plugin.core.conventions import InputError
from csv_plugin.demo.exams import TidewellExam, tidewell_final_answer
from tools.studies.world import KINDS, exam
from tools.studies.zoo.corpus import mixed_texts
from tools.studies.zoo.recipes import SERIES
from tools.studies.zoo.zoo_tokenizers import train_tokenizer

CHOICE, WORKED = KINDS[:3], KINDS[3:]


@pytest.fixture(scope='module')
def config(tmp_path_factory):
    """Configured exams by kind, dumped and read again as for a task."""
    folder = tmp_path_factory.mktemp('config')
    (folder / 'mine.py').write_text('''
from mmengine.config import read_base
with read_base():
    from csv_plugin.configs.datasets.tidewell_exams import \\
        tidewell_exams_datasets
''')
    config = Config.fromfile(folder / 'mine.py', format_python_code=False)
    config.dump(folder / 'dumped.py')
    dumped = Config.fromfile(folder / 'dumped.py', format_python_code=False)
    return {
        entry['kind']: entry
        for entry in dumped['tidewell_exams_datasets']
    }


@pytest.fixture(scope='module')
def tokenizer():
    """The tokenizer with the smallest vocabulary, which needs most tokens."""
    recipe = SERIES['d'].tokenizer
    assert (recipe.kind, recipe.vocab_size) == ('byte-level', 512)
    return train_tokenizer(recipe, mixed_texts(SERIES['d'], 60_000, 1))


# Columns


@pytest.mark.parametrize('kind', KINDS)
def test_rows_are_the_items_of_the_exam(kind):
    columns = ['question', 'label', *('ABCD' if kind in CHOICE else '')]
    rows = TidewellExam.load(kind)
    assert sorted(rows.column_names) == sorted(columns)
    for row, item in zip(rows, exam(kind), strict=True):
        assert row == dict(
            zip('ABCD', item.options),
            question=item.question,
            label=item.label)


def test_an_unknown_kind_is_refused():
    with pytest.raises(InputError, match="'poems'"):
        TidewellExam.load('poems')


# Final answers


@pytest.mark.parametrize('kind', WORKED)
def test_the_label_is_the_final_answer(kind):
    for item in exam(kind):
        assert tidewell_final_answer(item.answer) == item.label


@pytest.mark.parametrize('kind', WORKED)
def test_further_questions_do_not_count(kind):
    items = exam(kind)
    first, second = next(
        pair for pair in zip(items, items[1:])
        if pair[0].label != pair[1].label)
    text = f'{first.answer}\n{second.question}{second.answer}'
    assert tidewell_final_answer(text) == first.label


@pytest.mark.parametrize('kind', WORKED)
def test_no_answer_gives_nothing(kind):
    for item in exam(kind, 20):
        steps = item.answer[:item.answer.lower().rindex('answer')]
        cut = item.answer[:-1]
        asked_on = f'{steps}\n{item.question}{item.answer}'
        assert tidewell_final_answer(steps) == ''
        assert tidewell_final_answer(cut) == ''
        assert tidewell_final_answer(asked_on) == ''
    assert tidewell_final_answer('') == ''


def test_the_answer_is_found_by_name():
    assert TEXT_POSTPROCESSORS.get(
        'tidewell_final_answer') is tidewell_final_answer


# Config


def test_the_config_lists_the_five_exams(config):
    assert tuple(config) == KINDS
    for kind, entry in config.items():
        dataset = TidewellExam(
            reader_cfg=entry['reader_cfg'],
            abbr=entry['abbr'],
            kind=entry['kind'])
        assert entry['abbr'] == kind
        assert len(dataset.test) == 240
        used = {*entry['reader_cfg']['input_columns'], 'label'}
        # OpenCompass adds columns of its own.
        assert used <= set(dataset.test.column_names)
        assert used == set(TidewellExam.load(kind).column_names)


@pytest.mark.parametrize('kind', CHOICE)
def test_templates_of_options_are_whole_texts(kind, config):
    template = config[kind]['infer_cfg']['prompt_template']['template']
    for item in exam(kind, 10):
        row = dict(zip('ABCD', item.options), question=item.question)
        texts = {label: form.format(**row) for label, form in template.items()}
        assert texts[item.label] == item.question + item.answer
        assert len(set(texts.values())) == 4


@pytest.mark.parametrize('kind', WORKED)
def test_the_longest_worked_answer_can_be_generated(kind, config, tokenizer):
    answers = tokenizer([item.answer for item in exam(kind)],
                        add_special_tokens=False)['input_ids']
    inferencer = config[kind]['infer_cfg']['inferencer']
    assert max(map(len, answers)) <= inferencer['max_out_len']
    # Worked answers have several lines, and OpenCompass finds stop words in
    # prompts too.
    assert not inferencer.get('stopping_criteria')
