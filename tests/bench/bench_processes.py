"""CPU seconds and processes of whole runs, by how they are divided.

    OMP_NUM_THREADS=1 python -m tests.bench.bench_processes demo
    COMPASS_DATA_CACHE=../shared OMP_NUM_THREADS=1 python -m \
        tests.bench.bench_processes mmlu --models 2 --items 1

`demo` runs the demonstration with two tasks for each model and stage, and
exams by perplexity in batches of one, then with the tasks and batches that it
ships with, but without predictions. `mmlu` runs models of
the demonstration on the first items of 57 datasets and on the 250 texts, as
OpenCompass divides a run by itself, then by `few_processes`. CPU seconds are
those of the command and all processes that it started; they also grow while
other programs share the cores. At the end it says in how many cells the
accuracies agree.
"""
import argparse
import json
import re
import tempfile
from pathlib import Path

from tests.bench.host_runs import IMPORTS, STAGES, run_config

COMMON = IMPORTS + '''
from opencompass.models import HuggingFaceBaseModel

with read_base():
    from csv_plugin.configs.datasets.salience_texts import \\
        salience_texts_datasets
    from csv_plugin.configs.models.tidewell_zoo import held_out_models
    from {benchmarks} import {name} as benchmarks
    {division}

models = held_out_models[:{models}]
for dataset in benchmarks:
    if {items}:
        dataset['reader_cfg']['test_range'] = '[0:{items}]'
datasets = [*benchmarks, *salience_texts_datasets]
del dataset
'''
FEW = 'from csv_plugin.configs.few_processes import eval, infer'
#: The demonstration's models are small: several share a process.
SHARED = "infer['n_tasks'] = 2\n"
#: Two tasks for each model and stage, and batches of one.
TWO_TASKS = '''
model_dataset_combinations = [
    dict(models=models, datasets=benchmarks),
    dict(models=models, datasets=salience_texts_datasets),
]
for model in models:
    model['type'] = HuggingFaceBaseModel
# The first three exams are by perplexity.
for dataset in benchmarks[:3]:
    dataset['infer_cfg']['inferencer']['batch_size'] = 1
del dataset, model
''' + STAGES
RUNS = {
    'demo':
    dict(
        benchmarks='csv_plugin.configs.datasets.tidewell_exams',
        name='tidewell_exams_datasets'),
    'mmlu':
    dict(
        benchmarks='opencompass.configs.datasets.mmlu.mmlu_ppl_ac766d',
        name='mmlu_datasets'),
}
#: Imports and last lines of a config, before and now.
DIVISIONS = {
    'demo': [('', TWO_TASKS), (FEW, SHARED)],
    'mmlu': [('', ''), (FEW, '')],
}


def measure(folder, config):
    """Processes, CPU and wall seconds of a run, and its accuracies."""
    printed, cpu, wall = run_config(folder, config)
    tasks = re.findall(r'Partitioned into (\d+) tasks', printed)
    if len(tasks) != 2:
        raise SystemExit(printed)
    accuracies = {}
    for file in Path(folder).glob('outputs/*/*/results/*/*.json'):
        result = json.loads(file.read_text())
        if 'accuracy' in result:
            accuracies[file.parent.name, file.stem] = result['accuracy']
    return 1 + sum(map(int, tasks)), cpu, wall, accuracies


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('run', choices=RUNS)
    parser.add_argument('--models', type=int, default=7)
    parser.add_argument('--items', type=int, help='of each dataset: all')
    options = parser.parse_args()
    found = []
    for title, (division, last) in zip(('before', 'now'),
                                       DIVISIONS[options.run]):
        config = COMMON.format(
            **RUNS[options.run],
            division=division,
            models=options.models,
            items=options.items) + last
        with tempfile.TemporaryDirectory() as folder:
            processes, cpu, wall, accuracies = measure(folder, config)
        found.append(accuracies)
        print(
            f'{title:6} {processes} processes, {cpu:.0f} CPU s, '
            f'{wall:.0f} s wall',
            flush=True)
    before, now = found
    same = sum(before[cell] == now.get(cell) for cell in before)
    print(f'{same} of {len(before)} accuracies are the same')


if __name__ == '__main__':
    main()
