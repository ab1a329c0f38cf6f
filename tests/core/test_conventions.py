"""Names that occur twice, and what records look like in a notebook."""
import dataclasses
import importlib
import pkgutil
from pathlib import Path

import numpy as np
import pytest

import csv_plugin.core
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.blocks import Block, JoinedColumns
from csv_plugin.core.capability_points import capability_points
from csv_plugin.core.conventions import (InputError, check_list, check_unique,
                                         short_repr)
from csv_plugin.core.coverage import coverage_by_level
from csv_plugin.core.error_variances import HeldOutErrors
from csv_plugin.core.features import text_columns
from csv_plugin.core.loss_unit import learn_loss_unit
from csv_plugin.core.mapping import LossMap
from csv_plugin.core.model_losses import ModelLosses
from csv_plugin.core.overall import FilledMeans, Overall
from csv_plugin.core.predictions import Missing
from csv_plugin.core.salience import (Auto, Averaged, NonNegative, Ridge, Task,
                                      fold_masks)
from csv_plugin.core.salience.averaged import Logarithms
from csv_plugin.core.salience.narrow_ridge import NarrowRidge
from csv_plugin.core.salience.on_columns import OnColumns
from csv_plugin.core.salience.ridge_regressions import Problems
from csv_plugin.core.salience.wide_ridge import WideRidge
from csv_plugin.core.scaling_law import Regressions
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.study import Study
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.core.training import Training
from csv_plugin.core.training_curve import path_curve
from csv_plugin.core.witnesses import learn_witnesses
from tests.runs import FITTED, dump, model_losses, train
from tools.studies.other_methods.all_methods import Evidence
from tools.studies.other_methods.comparison import Comparison, Fold
from tools.studies.other_methods.cross_validation import Candidates

#: Many texts and benchmarks, with the long names that real ones have.
TEXTS = TextSet(
    tuple(Text(f'a-validation-text-{i}', 'abcdef') for i in range(40)))
BENCHMARKS = tuple(f'benchmark-of-knowledge-{i}-5shot' for i in range(30))


def test_names_once():
    check_unique('models', ['a', 'b'])
    with pytest.raises(InputError, match="models: .*, found 'b' twice"):
        check_unique('models', ['a', 'b', 'c', 'b'])


def test_an_error_is_one_line_that_a_terminal_shows():
    error = InputError('a\x1b[2J/b', 'text', 'x\n\t\u202ey\udcff\x00é猫', 'Go.')
    assert str(error) == (r'a\x1b[2J/b: expected text, found '
                          r'x  \u202ey\udcff\x00é猫. Go.')


def test_an_error_is_short_whatever_it_quotes():
    found = f'{"a" * 5000}\n{"z" * 5000}'
    message = str(InputError(found, found, found, found))
    assert message.count(' ... ') == 4 and 950 < len(message) < 1000
    assert message.startswith('a' * 140) and message.endswith('z' * 50)
    assert len(str(InputError('', '', '\U000e0001' * 9999, ''))) < 1000
    # A long part has the room that the others leave.
    names = ', '.join(map(str, range(200)))
    assert names in str(InputError('models', 'losses', names, 'Score them.'))


@dataclasses.dataclass
class Record:
    array: np.ndarray
    name: str
    number: np.ndarray

    __repr__ = short_repr


def test_a_short_repr_has_the_shapes_of_arrays():
    record = Record(np.zeros((3, 4)), 'x' * 100, np.array(0.5))
    assert repr(record) == ('Record(array=array of shape (3, 4), '
                            'name=..., number=array(0.5))')


@pytest.fixture(scope='module')
def records():
    """A record of each dataclass of core that may be large."""
    predictor = train(BENCHMARKS, texts=TEXTS)
    dumps = {
        model: dump(model, model_losses(skill, TEXTS), TEXTS)
        for model, skill in {
            **FITTED, 'new': 0.4
        }.items()
    }
    losses = ModelLosses(TEXTS, dumps)
    table = predictor.loss_table(losses)
    features = predictor.features(table)
    observed = AccuracyTable(features.models, BENCHMARKS,
                             np.tile(np.linspace(.2, .8, 17)[:, None], 30),
                             np.zeros(30), np.zeros(30, int))
    families = {model: f'family-{i % 4}' for i, model in enumerate(dumps)}
    groups = np.array(list(families.values()))
    task = Task.of(features.values, features.columns.uniform,
                   observed.values[:, 0], 0.0, groups)
    masks = fold_masks(groups, 0)
    fit = Ridge().fit(task, masks)
    columns = text_columns(table)
    block = Block('texts', columns, (Ridge(), NonNegative()))
    wide = WideRidge.of(task.features)
    problems = Problems(task.accuracy, np.ones((9, len(task.accuracy))),
                        np.zeros(9))
    on_columns = OnColumns('texts ridge', Ridge(), np.arange(40),
                           columns.columns.uniform)
    halves = TokenSpans([0, 3], [3, 6], 6)
    loss_map = LossMap.for_texts([TokenSpans(range(6), range(1, 7), 6)],
                                 [halves])
    study = Study.of({'ridge': predictor}, losses, observed)
    return [
        predictor, predictor.partial_scores, predictor.benchmarks[0],
        predictor.benchmarks[0].intervals, HeldOutErrors.of(task, fit),
        *learn_witnesses(task, fit, {'text': np.eye(1, 40)[0]})[-1:],
        predictor.targets, losses, dumps['new'], dumps['new'].texts[0], halves,
        TEXTS, table, features, features.columns, columns, block,
        JoinedColumns((block, block)), observed, task,
        Auto().held_out(task, masks), wide.centre,
        Logarithms(task.features), fit, fit.model,
        fit.model.curve, fit.folds.curve, fit.path, study, study.predictions,
        Overall.of(study.predictions), FilledMeans.of(study.predictions),
        coverage_by_level(predictor, losses, observed),
        *capability_points(predictor, losses, observed, families)[:1],
        Training(table, TEXTS, observed, families, predictor.targets),
        path_curve({name: (task, fit) for name in BENCHMARKS}), loss_map,
        loss_map(np.ones((3, 6))), on_columns, Auto((on_columns, ) * 20),
        Ridge(), NonNegative(), Averaged(),
        Averaged().fit(task, masks).model.logs,
        *Averaged()._members(task, masks)[1:], wide,
        wide.products, wide.path(problems, (1.0,))[1], problems,
        NarrowRidge.of(task.features),
        Regressions(np.ones((99, 2)), np.ones(99), np.ones((9, 99)),
                    np.zeros(9), 2),
        Candidates.of_one_score_each(task, task.uniform[None]),
        Evidence(features, observed, groups, groups, {}, []),
        Comparison(study.predictions, tuple(groups), {}),
        Fold(features.models, features.models),
        learn_loss_unit(features.values, features.columns.uniform, groups)
    ]  # yapf: disable


#: Dataclasses without arrays, whose fields one wants to read in full.
SMALL = {'BenchmarkErrors', 'Completion', 'Constant', 'Contradiction',
         'DumpInfo', 'Errors', 'ErrorsByReach',
         'HeldOutFamily', 'Ladder', 'Missing', 'Outlier',
         'PartialLeastSquares', 'PerplexityCorrelations', 'Plain',
         'Prediction', 'PrincipalComponents', 'StatedError', 'Text',
         'Uniform'}  # yapf: disable


def test_every_large_dataclass_has_a_record(records):
    names = set()
    for module in pkgutil.walk_packages(csv_plugin.core.__path__,
                                        'csv_plugin.core.'):
        names |= {
            name
            for name, cls in vars(importlib.import_module(
                module.name)).items()
            if isinstance(cls, type) and dataclasses.is_dataclass(cls)
        }
    assert names - SMALL == {type(record).__name__ for record in records}


def test_no_repr_is_long(records):
    for record in records:
        assert 10 < len(repr(record)) <= 300, type(record)


def test_the_repr_of_a_predictor_fits_in_three_lines(records):
    lines = repr(records[0]).splitlines()
    assert len(lines) == 3 and max(map(len, lines)) <= 79
    assert lines[0] == (
        'Predictor(30 benchmarks: benchmark-of-knowledge-0-5shot, ...;')
    assert '16 models' in lines[1]


def test_the_repr_of_missing_is_its_reason():
    assert repr(Missing('no losses')) == "Missing(reason='no losses')"


@pytest.mark.parametrize('one, shown', [('a-b', "'a-b'"),
                                        (Path('a/b'), "'a/b'")])
def test_one_name_is_no_list(one, shown):
    """It would be read letter by letter."""
    with pytest.raises(InputError) as error:
        check_list('models', one)
    assert str(error.value) == (f'models: expected a list, found {shown}. '
                                f'Put it into a list: [{shown}].')
    with pytest.raises(InputError, match='models: expected a list'):
        check_unique('models', one)
    check_list('models', [one])
    check_list('models', None)
