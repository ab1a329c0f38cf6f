"""A predictor that raises disagreement flags easily."""
from dataclasses import replace

from csv_plugin.core.predictor import Predictor


def strict(predictor: Predictor) -> Predictor:
    """The flag is raised wherever accuracies differ by more than 2 points."""
    return replace(
        predictor,
        benchmarks=tuple(
            replace(
                part,
                references=tuple(
                    replace(reference, limit=0.)
                    for reference in part.references))
            for part in predictor.benchmarks))
