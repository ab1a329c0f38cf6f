"""What tab completion offers of the package and of its objects."""
import pytest

import csv_plugin as cp
from csv_plugin.demo import shipped
from tests.runs import TEXTS, dump, model_losses, train

PREDICTOR = train()
LOSSES = cp.ModelLosses(TEXTS, {'mine': dump('mine', model_losses(1.0))})


def test_the_package_offers_its_public_names():
    assert dir(cp) == sorted(cp.__all__)


@pytest.mark.parametrize('make', [
    lambda: PREDICTOR,
    lambda: PREDICTOR.targets,
    lambda: PREDICTOR.predict(LOSSES),
    lambda: LOSSES,
    lambda: cp.read_collection(shipped.COLLECTION).accuracies,
    lambda: cp.compare(LOSSES['mine'], LOSSES['mine'], PREDICTOR),
])
def test_objects_offer_public_names(make):
    offered = dir(make())
    private = [name for name in offered if name[0] == '_' != name[1]]
    assert offered and not private


def test_methods_are_offered():
    offered = dir(PREDICTOR.predict(LOSSES))
    assert {'to_frame', 'select', 'values', 'models'} <= {*offered}
