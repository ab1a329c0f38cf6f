"""Progress bars of a fit, which say what is under way."""
from tqdm import tqdm

from csv_plugin.core.conventions import Progress


def fit_bars() -> Progress:
    """Bars for `fit_predictor`, which fits first and makes intervals then."""
    labels = iter(('fits', 'intervals'))
    return lambda benchmarks: tqdm(benchmarks, desc=next(labels))
