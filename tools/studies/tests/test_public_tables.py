"""Tables from clones of public repositories, and what is measured on them."""
import csv
import json
import math

import numpy as np
import pytest

from csv_plugin.io.model_tables import ModelTables, read_model_tables
from csv_plugin.io.tables import write_csv
from csv_plugin.triage.checkpoints import read_checkpoints
from tools.studies import public_tables, unseen_collections


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


def write_harness(path, model, perplexity, examples=0, piqa=.5):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps({
            'results': {
                'lambada_openai': {
                    'acc': 0,
                    'ppl': perplexity
                },
                'piqa': {
                    'acc': piqa,
                    'acc_norm': .9
                },
                'hendrycksTest-anatomy': {
                    'acc': .2
                },
                'hendrycksTest-virology': {
                    'acc': .4
                }
            },
            'config': {
                'model_args': model,
                'num_fewshot': examples
            }
        }))


def pythia_clone(tmp_path):
    evals = tmp_path / 'evals'
    runs = evals / 'pythia-v1'
    for run, step, perplexity in [('1b-deduped', 512, 90), ('1b', 1000, 80),
                                  ('1b-deduped', 1000, 80),
                                  ('1b-deduped', 3000, 70),
                                  ('12b', 1000, math.nan), ('12b', 3000, 9)]:
        write_harness(runs / f'pythia-{run}/zero-shot/{run}_step{step}.json',
                      run, perplexity)
    write_harness(runs / 'pythia-1b-deduped/intervention/long_step4000.json',
                  '1b', 50)
    write_harness(evals / 'bloom/bloom-7b1.json', 'bloom', 8, piqa=.6001)
    write_harness(evals / 'opt/opt-125m.json', 'opt', 85)


def pruned_clone(tmp_path):
    ways = ['dense', 'wanda_30', 'wanda_50', 'wanda_70']
    for base in ('Llama-2-7b-hf', 'Llama-3.1-8B'):
        folder = tmp_path / f'results_{base}'
        folder.mkdir()
        (folder / 'results_complete.json').write_text(
            json.dumps({
                base: {
                    'perplexity': {
                        way: 10 * len(base) + place
                        for place, way in enumerate(ways)
                    },
                    'zero_shot': {
                        way: {
                            'piqa': .5,
                            'average': .5
                        }
                        for way in ways
                    }
                }
            }))


CLONES = {
    'ladder': ladder_clone,
    'pythia': pythia_clone,
    'pruned': pruned_clone,
}


def tables_of(collection: str, tmp_path) -> ModelTables:
    out = tmp_path / 'out'
    CLONES[collection](tmp_path)
    tables = public_tables.READERS[collection](tmp_path)
    public_tables.write_tables(tables, out)
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


def test_pythia_is_trained_models_without_copies(tmp_path):
    tables = tables_of('pythia', tmp_path)
    assert tables.features.models == ('pythia-12b@3000', 'pythia-1b@1000',
                                      'pythia-1b-deduped@3000', 'opt-125m',
                                      'bloom-7b1')
    assert tables.features.values[:, 0] == pytest.approx(
        np.log([9, 80, 70, 85, 8]))
    assert tables.families['pythia-1b-deduped@3000'] == 'pythia-1b'
    assert tables.models_in('test') == ('pythia-12b@3000', 'bloom-7b1')
    assert tables.info['bloom-7b1'].params_b == 7.1
    assert tables.info['pythia-1b@1000'].tokens == 1000 * 2**21
    first = tables.accuracies.select(['pythia-1b@1000'])
    assert first.benchmarks == ('lambada_openai', 'mmlu', 'piqa')
    assert first.values[0] == pytest.approx([0, .3, .5])
    with (tmp_path / 'out/wrong.csv').open(newline='') as file:
        wrong = {(row['model'], row['cell']) for row in csv.DictReader(file)}
    assert wrong == {('pythia-1b-deduped@1000', 'all'),
                     ('pythia-12b@1000', 'loss of lambada'),
                     ('bloom-7b1', 'piqa')}


def test_protocols_of_unseen_collections(tmp_path, monkeypatch):
    """Less pruned models are predicted from those that are pruned more."""
    monkeypatch.setattr(unseen_collections, 'COLLECTIONS',
                        {'out': 'less pruned'})
    tables_of('pruned', tmp_path)
    families, split = unseen_collections.protocols(tmp_path)
    assert len(families.fits) == 2
    fitted, predicted = split.fits[0]
    assert predicted.sum() == fitted.sum() == 4
