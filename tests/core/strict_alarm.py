"""A predictor whose alarm rings easily."""
from dataclasses import replace

from csv_plugin.core.predictor import Predictor


def strict(predictor: Predictor) -> Predictor:
    """The alarm rings wherever accuracies differ by more than 2 points."""
    return replace(
        predictor,
        benchmarks=tuple(
            replace(
                part,
                witnesses=tuple(
                    replace(witness, limit=0.) for witness in part.witnesses))
            for part in predictor.benchmarks))
