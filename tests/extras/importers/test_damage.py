"""Damaged copies of every output end in one line, or change nothing."""
import shutil

import pytest

import csv_plugin as cp
from csv_plugin.core.conventions import InputError
from tests.extras.importers.outputs import ANSWERS, LM_EVAL, TEXTS
from tests.io.mutations import mutations


def accuracies(path):
    return cp.read_lm_eval_accuracies([path], ['tiny_choice'],
                                      chance={'tiny_choice': 0.4})


def losses(source):
    texts = cp.read_texts(TEXTS)
    return lambda path: cp.import_losses(source, [path], texts)


@pytest.mark.parametrize('source, pattern, read', [
    (LM_EVAL / 'c-l-80', 'samples_*', losses('lm-eval')),
    (LM_EVAL / 'c-l-80', 'results_*07-58*', losses('lm-eval')),
    (LM_EVAL / 'c-l-80', 'results_*08-00*', accuracies),
    (ANSWERS.parent, ANSWERS.name,
     lambda path: losses('completions')(path / ANSWERS.name)),
])  # yapf: disable
def test_damaged_files(tmp_path, source, pattern, read):
    shutil.copytree(source, tmp_path / 'out')
    path, = (tmp_path / 'out').glob(pattern)
    intact = read(tmp_path / 'out').to_dict()
    refused = 0
    for data in mutations(path.read_bytes(), 80):
        path.write_bytes(data)
        try:
            # A digit of an answer may have changed, which nothing tells.
            assert read(tmp_path / 'out').to_dict().keys() == intact.keys()
        except InputError as error:
            assert '\n' not in str(error)
            refused += 1
    assert refused > 40
