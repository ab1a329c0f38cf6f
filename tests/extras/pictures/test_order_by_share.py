"""The picture of benchmarks that tell runs apart."""
import numpy as np

from csv_plugin.extras.pictures.order_by_share import order_picture
from tests.triage.test_benchmark_trust import judge


def test_equal_scores_have_a_picture():
    order_picture([judge(np.full((3, 5), 0.25))])
