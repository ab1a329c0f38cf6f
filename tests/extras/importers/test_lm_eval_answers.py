"""Answers to single items in samples of lm-evaluation-harness."""
import pytest

from csv_plugin.cli.salience import main
from csv_plugin.core.input_error import InputError
from csv_plugin.extras.importers.lm_eval_answers import read_lm_eval_answers
from tests.extras.importers.outputs import write_results, write_rows

#: Old files do not state all that is compared.
pytestmark = pytest.mark.filterwarnings('ignore:not compared')


def write(folder, right, shots=0, metric='acc', **others):
    """Results and samples of piqa, under two filters that contradict."""
    path = write_results(folder, '0.4.13', {'piqa': .5, **others}, shots=shots)
    stamp = path.stem.rpartition('_')[2]
    write_rows(
        path.with_name(f'samples_piqa_{stamp}.jsonl'),
        [{
            'doc_id': i,
            'doc_hash': f'h{i}',
            metric: grade
        } for grades in (right, [1 - grade for grade in right])
         for i, grade in enumerate(grades)])


def test_the_first_filter_counts(tmp_path):
    write(tmp_path / 'm', [1.0, 0.0, 1.0])
    answers = read_lm_eval_answers(tmp_path / 'm')
    assert [*answers['piqa'].values()] == [1, 0, 1]


def test_a_decision(tmp_path, capsys):
    write(tmp_path / 'old', [1.0, 0.0] * 200)
    write(tmp_path / 'new', [1.0, 1.0] * 200)
    places = str(tmp_path / 'old'), str(tmp_path / 'new')
    assert main(['compare', '--answers', *places]) == 0
    assert 'accuracy on piqa +50.00 points' in capsys.readouterr().out


@pytest.mark.parametrize('other', [{'shots': 5}, {'metric': 'acc_norm'}])
def test_answers_that_were_measured_otherwise_are_not_paired(
        tmp_path, capsys, other):
    write(tmp_path / 'a', [1.0, 0.0])
    write(tmp_path / 'b', [1.0, 0.0], **other)
    places = str(tmp_path / 'a'), str(tmp_path / 'b')
    assert main(['compare', '--answers', *places]) == 2
    assert 'items that both answered' in capsys.readouterr().err


def test_tasks_without_samples_are_left_out(tmp_path):
    write(tmp_path / 'm', [1.0, 0.0], boolq=.6)
    with pytest.warns(UserWarning, match='left out 1 task .boolq.*--log_sam'):
        assert [*read_lm_eval_answers(tmp_path / 'm')] == ['piqa']
    write_results(tmp_path / 'n', '0.4.13', {'boolq': .6})
    with pytest.raises(InputError, match='--log_samples'):
        read_lm_eval_answers(tmp_path / 'n')
