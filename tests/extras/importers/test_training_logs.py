"""Logs of training runs, in the formats of the programs that write them."""
import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from csv_plugin.cli import salience
from csv_plugin.core.conventions import InputError
from csv_plugin.extras.importers.training_logs import read_training_logs
from csv_plugin.io.model_tables import read_accuracies, read_loss_features
from csv_plugin.triage.checkpoints import read_checkpoints

TRAINER = {
    'global_step': 200,
    'log_history': [
        {'epoch': .1, 'loss': 4.1, 'grad_norm': math.nan, 'step': 100,
         'num_input_tokens_seen': 51200},
        {'epoch': .1, 'eval_c4_loss': 4.25, 'eval_c4_runtime': 9., 'step': 100,
         'num_input_tokens_seen': 51200},
        {'epoch': .1, 'eval_code_loss': 2.5, 'step': 100},
        {'epoch': .2, 'eval_c4_loss': 4.0, 'step': 200,
         'num_input_tokens_seen': 102400},
        {'epoch': .2, 'eval_code_loss': 2.25, 'step': 200},
        {'train_runtime': 12.5, 'train_loss': 4.05, 'epoch': .2},
    ]
}  # yapf: disable


def read(tmp_path, name, text, chance=None, tokens=None):
    path = tmp_path / name
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    return read_training_logs({'run': path}, chance, tokens)


def lines(*rows):
    return ''.join(json.dumps(row) + '\n' for row in rows)


def losses(logs):
    return {
        model: dict(zip(logs.features.columns.units, row))
        for model, row in zip(logs.features.models,
                              logs.features.values.tolist())
    }


def test_the_state_of_a_trainer(tmp_path):
    logs = read(tmp_path, 'trainer_state.json', TRAINER)
    assert losses(logs) == {
        'run@100': {'c4': 4.25, 'code': 2.5},
        'run@200': {'c4': 4.0, 'code': 2.25}
    }  # yapf: disable
    assert [point.tokens
            for point in logs.checkpoints.values()] == [51200, 102400]
    assert logs.accuracies is None
    assert '1 rows without a step, skipped' in logs.notes[0]
    assert 'eval_c4_runtime' in logs.notes[1] and 'grad_norm' in logs.notes[1]
    assert 'nats per token (assumed' in logs.notes[2]


def test_lines_of_nanochat_with_a_bad_one(tmp_path):
    """Its accuracies are 0 at chance, and it says nothing of tokens."""
    log = lines(
        {'step': 0, 'total_training_flops': 0, 'val/bpb': 3.2},
        {'step': 250, 'val/bpb': math.nan},
        {'step': 500, 'val/bpb': 1.1, 'total_training_time': 9.},
        {'step': 500, 'core_metric': .1,
         'centered_results': {'hellaswag': .1, 'jeopardy': .2, 'coqa': .3}},
        {'step': 900, 'centered_results': {'hellaswag': .2}},
    ) + '{"step": 1000, "val/b\n'  # yapf: disable
    logs = read(tmp_path, 'log.jsonl', log, {'jeopardy': 0}, 2048)
    assert losses(logs) == {'run@0': {'val_bpb': 3.2},
                            'run@500': {'val_bpb': 1.1}}  # yapf: disable
    accuracies = logs.accuracies
    assert accuracies.models == ('run@500', )
    assert accuracies.benchmarks == ('hellaswag', 'jeopardy')
    assert accuracies.values == pytest.approx(np.array([[.25 + .1 * .75, .2]]))
    assert logs.checkpoints['run@500'].tokens == 500 * 2048
    notes = '\n'.join(logs.notes)
    assert '1 lines without logged values, skipped' in notes
    assert '1 values that are no finite numbers, skipped' in notes
    assert '1 step with accuracies and without losses left out' in notes
    assert 'without a chance level, left out: coqa' in notes
    assert 'bits per byte (as named): val_bpb' in notes


def test_names_of_values(tmp_path):
    """Of OLMo, llm-foundry, Megatron-LM and the harness."""
    row = {
        'eval/lm/pile-validation/CE loss': 1.,
        'metrics/eval/c4/LanguageCrossEntropy': 2.,
        'lm loss validation': 3.,
        'eval/paloma/c4_en/bpb': 4.,
        'eval/downstream_bpb/piqa_val_rc_5shot_bpb': 6.,
        'heldout_loss': 5.,
        'val_loss_epoch': 7.,
        # What is derived, and what is of the training.
        **dict.fromkeys((
            'lm loss validation vs samples', 'lm loss validation ppl',
            'val_loss_step',
            'loss/train/total', 'best_val_loss', 'eval_accuracy',
            'eval_mean_token_accuracy', 'arc_easy/acc_stderr,none'), .5),
        'eval/downstream/hellaswag_len_norm': .5,
        'metrics/lambada_openai/0-shot/InContextLearningLMAccuracy': .25,
        'arc_easy/acc,none': 40.,
        'arc_easy/acc_norm,none': 45.,
        'gsm8k/exact_match,strict-match': .1,
        'time/batch': 7, 'time/token': 700,
    }  # yapf: disable
    names = 'hellaswag', 'lambada_openai', 'arc_easy', 'gsm8k'
    logs = read(tmp_path, 'log.jsonl', lines(row), dict.fromkeys(names, 0))
    assert losses(logs) == {'run@7': {
        'lm/pile-validation': 1., 'c4': 2., 'validation': 3.,
        'paloma/c4_en_bpb': 4., 'heldout': 5., 'val': 7.,
        'downstream_bpb/piqa_val_rc_5shot_bpb': 6.
    }}  # yapf: disable
    assert logs.accuracies.to_dict() == {'run@7': {
        'hellaswag': .5, 'lambada_openai': .25, 'arc_easy': .45, 'gsm8k': .1
    }}  # yapf: disable
    assert logs.checkpoints['run@7'].tokens == 700
    notes = '\n'.join(logs.notes)
    assert 'left out: arc_easy/acc,none' in notes
    assert 'Taken as percent: arc_easy' in notes


def test_lines_of_text(tmp_path):
    log = """building GPT model ...
 iteration 100/ 500 | consumed samples: 800 | lm loss: 6.1E+00 |
 validation loss at iteration 100 | lm loss value: 6.25E+00 | lm loss PPL: 5 |
 validation-code loss at iteration 100 | lm loss value: 4.5E+00 |
 validation loss at iteration 100 on test set | lm loss value: 9.0E+00 |
[metric][batch=100]: metrics/eval/c4/LanguageCrossEntropy: 2.5 \n"""
    assert losses(read(tmp_path, 'run.log', log)) == {
        'run@100': {'validation': 6.25, 'code': 4.5, 'c4': 2.5}
    }  # yapf: disable
    log = ('val_bpb:enabled\nstep:0/20 train_loss:9\n'
           'step:5/20 val_loss:6.5 val_bpb:4.25 train_time:8ms\n')
    assert losses(read(tmp_path, 'run.log', log)) == {
        'run@5': {'val': 6.5, 'val_bpb': 4.25}}  # yapf: disable
    log = 'Step 00250 | Validation bpb: 1.125\n'
    assert losses(read(tmp_path, 'run.txt', log)) == {
        'run@250': {'val_bpb': 1.125}}  # yapf: disable


def test_exports_of_weights_and_biases(tmp_path):
    """A chart of two runs, a table of runs, and a history in three formats."""
    chart = ('"Step","a - val/loss","a - val/loss__MIN","b - c - val/loss"\n'
             '"0","9.5","9.5","9"\n"50","","",""\n"100","NaN","","8"\n')
    logs = read(tmp_path, 'chart.csv', chart)
    assert losses(logs) == {
        'a@0': {'val': 9.5}, 'b - c@0': {'val': 9.}, 'b - c@100': {'val': 8.}
    }  # yapf: disable
    runs = 'Name,Created,step,val/loss\na,2026,10,2.5\nb,2026,20,2.25\n'
    assert losses(read(tmp_path, 'runs.csv', runs)) == {
        'a@10': {'val': 2.5}, 'b@20': {'val': 2.25}}  # yapf: disable
    history = {
        '_step': [0, 1, 2],
        'trainer/global_step': [10., 20., 20.],
        'val_loss': [3.5, 3., None],
        'train_loss': [3.25, None, 2.75]
    }
    pq.write_table(pa.table(history), tmp_path / 'history.parquet')
    (tmp_path / 'history.json').write_text(
        json.dumps({
            name: dict(enumerate(column))
            for name, column in history.items()
        }))
    (tmp_path / 'history.csv').write_text(
        ',_step,trainer/global_step,val_loss\n0,0,10,3.5\n1,1,20.0,3.0\n')
    for suffix in ('parquet', 'json', 'csv'):
        logs = read_training_logs({'m': tmp_path / f'history.{suffix}'})
        assert losses(logs) == {'m@10': {'val': 3.5}, 'm@20': {'val': 3.}}


def test_event_files(tmp_path):
    """Also those of TensorFlow 2, and one that was cut off."""
    tensorboard = pytest.importorskip('tensorboardX')
    from tensorboardX.proto.summary_pb2 import Summary
    from tensorboardX.proto.tensor_pb2 import TensorProto
    with tensorboard.SummaryWriter(str(tmp_path)) as writer:
        for step in (10, 20):
            writer.add_scalar('eval/loss', 5 - step / 16, step)
            writer.add_scalar('train/loss', 1., step)
            content = np.float32(step / 4).tobytes()
            writer.file_writer.add_summary(
                Summary(value=[
                    Summary.Value(
                        tag='eval/code_loss',
                        tensor=TensorProto(tensor_content=content))
                ]), step)
    expected = {
        'r@10': {'eval': 4.375, 'code': 2.5},
        'r@20': {'eval': 3.75, 'code': 5.}
    }  # yapf: disable
    assert losses(read_training_logs({'r': tmp_path})) == expected
    file, = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-6])
    logs = read_training_logs({'r': file})
    assert losses(logs) == {'r@10': expected['r@10']}
    assert '1 damaged records, skipped' in logs.notes[0]


def test_sets_with_other_steps_are_left_out(tmp_path):
    log = lines(*({'step': step, 'val/a_loss': 4., 'val/b_loss': 3.}
                  for step in (1, 2, 3)),
                {'step': 3, 'val/rare_loss': 2.},
                {'step': 4, 'val/a_loss': 3.5})  # yapf: disable
    logs = read(tmp_path, 'log.jsonl', log)
    assert [*losses(logs)] == ['run@1', 'run@2', 'run@3']
    assert logs.features.columns.units == ('a', 'b')
    notes = '\n'.join(logs.notes)
    assert 'at other steps, left out: rare' in notes
    assert '1 step without a loss on every validation set left out' in notes


@pytest.mark.parametrize('name, text, found', [
    ('log.jsonl', lines({
        'step': 1,
        'loss': 2.
    }), 'found loss, step'),
    ('log.jsonl', lines({'val_loss': 2.}), 'found val_loss'),
    ('log.json', '{"log_history": [', 'expected JSON'),
    ('log.csv', f'step,val_loss,note\n1,2,{"x" * 200_000}', 'field larger'),
])
def test_logs_without_losses(tmp_path, name, text, found):
    with pytest.raises(InputError, match=found):
        read(tmp_path, name, text)


def test_from_logs_to_a_forecast(tmp_path, capsys, monkeypatch):
    """The tables go on to `salience forecast` as they are."""
    monkeypatch.chdir(tmp_path)
    for r in range(6):
        rows = []
        for step in range(100, 100 * (11 if r < 5 else 6), 100):
            loss = 2 + .1 * r + 40 / step**.5
            rows.append({
                'step': step, 'tokens': 1000 * step, 'eval_c4_loss': loss,
                'eval_code_loss': .9 * loss + .05 * r,
                'hellaswag/acc_norm': .25 + .7 / (
                    1 + math.exp(2 * (loss - 4)))})  # yapf: disable
        folder = tmp_path / f'mix{r}'
        folder.mkdir()
        (folder / 'log.jsonl').write_text(lines(*rows))
    assert not salience.main(
        ['import', 'training-log', *(f'mix{r}' for r in range(6)), '--out',
         'out'])  # yapf: disable
    command = capsys.readouterr().out.splitlines()[-1].removeprefix('Next: ')
    table = read_checkpoints('out/checkpoints.csv')
    assert table['mix5@500'].tokens == 500_000
    assert read_loss_features('out/losses.csv').columns.units == ('c4', 'code')
    assert read_accuracies('out/scores.csv',
                           'out/benchmarks.csv').chance == [.25]
    assert not salience.main(command.split()[1:] + ['--json'])
    forecast = json.loads(capsys.readouterr().out)['forecasts'][0]
    # The accuracy at a loss of 2.5 + 40 / 1000**.5.
    assert forecast['forecast'] == pytest.approx(.681, abs=.01)
    assert forecast['budget'] == 1_000_000
