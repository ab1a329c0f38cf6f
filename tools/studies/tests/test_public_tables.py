"""Tables from clones of public repositories, and what is measured on them."""
import json

from csv_plugin.io.model_tables import ModelTables, read_model_tables
from csv_plugin.io.tables import write_csv
from csv_plugin.triage.checkpoints import read_checkpoints
from tools.studies import public_tables


def write_ladder_run(folder, name, steps, tokens=True):
    header = [
        '_step', 'eval/pile-validation/CrossEntropyLoss',
        'eval/downstream_bpb/piqa_val_rc_5shot_bpb',
        'eval/downstream/piqa_val_rc_5shot_len_norm',
        'eval/downstream/piqa_val_mc_5shot_acc',
        'eval/downstream_soft/piqa_val_rc_5shot_soft', 'batch_size_in_tokens'
    ]
    rows = [[
        step, 4 - step / 100, 2 - step / 100, .5 + step / 100, .9, .4, 100
    ] for step in steps]
    if tokens:
        header.append('throughput/total_tokens')
        rows = [[*row, 1000 * row[0]] for row in rows]
    write_csv(folder / f'{name}.csv', header, rows)


def ladder_clone(tmp_path):
    folder = tmp_path / 'src/scripts/paper/data/ladder-runs'
    folder.mkdir(parents=True)
    write_ladder_run(folder, '190M-1xC', range(25))
    write_ladder_run(folder, '190M-1xC-rerun', range(25))
    write_ladder_run(folder, '3B-0.5xC', range(13))
    write_ladder_run(folder, 'peteish7_eval_full', range(40), tokens=False)
    write_ladder_run(folder, 'peteish13_eval_full', range(25), tokens=False)


def overtrained_clone(tmp_path):
    folder = tmp_path / 'exp_data'
    for name in ('models', 'evals'):
        (folder / name).mkdir(parents=True)
    write_csv(
        folder / 'eval_metadata.csv',
        ['Eval Task', '#datapoints', 'Random baseline'],
        [['arc_challenge', 2376, 25], ['piqa', 1838, 50], ['never', 9, 0]])
    for model in ('d=96', 'open_lm_7b'):
        name = f'c4-{model}-1.0'
        results = [{'loss': 3.5, 'val_data': ['a/paloma_ptb/1.tar']}]
        (folder / f'models/{name}.json').write_text(
            json.dumps({
                'name': name,
                'dataset_name': 'c4',
                'hyperparameters': {
                    'model': f'scaling/configs/{model}.json',
                    'params': 5e8,
                    'tokens': 1e9
                },
                'results': results
            }))
        scores = {'icl': {'arc_challenge': .3, 'piqa': .6}}
        (folder / f'evals/evaluation_{name}_heavy.json').write_text(
            json.dumps({'eval_metrics': scores}))


CLONES = {
    'ladder': ladder_clone,
    'dense_ladder': ladder_clone,
    'overtrained': overtrained_clone,
}


def tables_of(collection: str, tmp_path) -> ModelTables:
    out = tmp_path / 'out'
    CLONES[collection](tmp_path)
    public_tables.main([collection, str(tmp_path), '--out', str(out)])
    return read_model_tables(*(out / f'{name}.csv'
                               for name in ('losses', 'scores', 'models',
                                            'benchmarks')))


def test_the_ladder_has_twelve_checkpoints_of_each_run(tmp_path):
    tables = tables_of('ladder', tmp_path)
    known = read_checkpoints(tmp_path / 'out/models.csv')
    runs = [known[name].run for name in tables.features.models]
    assert {runs.count(run) for run in runs} == {12}
    assert tables.families['190M-1xC-rerun@24'] == '190M-1xC'
    assert tables.info['190M-1xC@24'].params_b == 0.19
    assert {known[name].step
            for name in known if name.startswith('3B')} == set(range(1, 13))
    assert known['peteish7@39'].tokens == 3900
    assert tables.models_in('test')[0] == 'peteish7@4'
    assert tables.models_in('validation')[-1] == '3B-0.5xC@12'
    assert tables.features.columns.units == ('pile', 'piqa_val')
    assert tables.accuracies.benchmarks == ('piqa_val', )
    last = tables.accuracies.select(['190M-1xC@24'])
    assert (last.values, last.chance, last.n_items) == (0.74, 0.5, 1838)


def test_overtrained_models_of_the_largest_sizes_are_for_test(tmp_path):
    tables = tables_of('overtrained', tmp_path)
    assert tables.models_in('test') == ('c4-open_lm_7b-1.0', )
    assert tables.models_in('train') == ('c4-d=96-1.0', )
    assert tables.info['c4-d=96-1.0'].params_b == 0.5
    assert tables.features.columns.units == ('paloma_ptb', )
    assert tables.accuracies.benchmarks == ('arc_challenge', 'piqa')
    assert tables.accuracies.n_items.tolist() == [1172, 1838]
    assert tables.accuracies.chance.tolist() == [0.25, 0.5]
