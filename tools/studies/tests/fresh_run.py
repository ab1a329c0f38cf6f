"""What OpenCompass would write of a fresh series: the zoo's d-xs, renamed."""
import json

from csv_plugin.io.dumps import write_dump
from csv_plugin.io.runs.run_dumps import dataset_abbr
from tools.demo_maker.recipes import CHECKPOINTS

NAMES = tuple(f'd-xs@{percent}' for percent in CHECKPOINTS)


def write_run(folder, collection):
    """Losses and accuracies of z7-s in a time-stamped folder."""
    file_name = f'{dataset_abbr(collection.texts.fingerprint)}.safetensors'
    for percent, name in zip(CHECKPOINTS, NAMES):
        fresh = f'z7-s@{percent}'
        for part in ('predictions', 'results'):
            (folder / part / fresh).mkdir(parents=True)
        write_dump(folder / 'predictions' / fresh / file_name,
                   collection.losses[name])
        row = collection.accuracies.select([name]).values[0]
        for kind, accuracy in zip(collection.accuracies.benchmarks, row):
            (folder / 'results' / fresh / f'{kind}.json').write_text(
                json.dumps({'accuracy': 100 * accuracy}))
    return folder
