"""Show predictions of the demo's predictors beside the observed accuracies.

The environment variable CSV_PREDICTOR names a predictor to use instead:

    CSV_PREDICTOR=/path/to/predictor.safetensors opencompass ... \\
        --summarizer predicted --config-dir "$(salience demo --where configs)"
"""
from os import getenv
from os.path import abspath, dirname, join, realpath

from csv_plugin.oc.summarizers import PredictedSummarizer

demo = join(dirname(dirname(dirname(realpath(__file__)))), 'demo')
chosen = getenv('CSV_PREDICTOR')
predictors = [
    ('predicted', join(demo, 'predictor.safetensors')),
    ('mean-loss', join(demo, 'predictor_mean_loss.safetensors')),
]
if chosen:
    predictors = [('predicted', abspath(chosen))]
summarizer = dict(type=PredictedSummarizer, predictors=predictors)
del chosen, predictors
