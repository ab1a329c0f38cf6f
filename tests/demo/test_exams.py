"""The exams of the small world, as OpenCompass reads and grades them."""
import pytest
from mmengine.config import Config

from csv_plugin.demo.exams import TidewellExam, tidewell_final_answer
from tools.demo_maker.world import KINDS, exam

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


# Final answers


@pytest.mark.parametrize('kind', WORKED)
def test_the_label_is_the_final_answer(kind):
    for item in exam(kind):
        assert tidewell_final_answer(item.answer) == item.label


def test_further_questions_do_not_count():
    first, second = ('2 + 3 = 5. The answer is 5.', 'Question: 1 + 1?\n'
                     'Answer: 1 + 1 = 2. The answer is 2.')
    assert tidewell_final_answer(f'{first}\n{second}') == '5'
    # Without a full stop or an answer of its own there is none.
    assert tidewell_final_answer(first[:-1]) == ''
    assert tidewell_final_answer(f'2 + 3 = 5.\n{second}') == ''


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
