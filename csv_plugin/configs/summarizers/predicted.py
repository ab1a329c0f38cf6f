"""Predictions of the shipped predictors beside the real accuracies.

The environment variable CSV_PREDICTORS names files of other predictors:

    CSV_PREDICTORS=/path/to/predictor.safetensors opencompass ... \\
        --summarizer predicted --config-dir "$(salience configs --where)"

Several files have labels, LABEL=FILE, and a colon between them.
"""
from os.path import dirname, join, realpath

from csv_plugin.oc.summarizers import PredictedSummarizer

demo = join(dirname(dirname(dirname(realpath(__file__)))), 'demo')
# Imports at the top of a config are lazy: they give names, not modules.
oc = __import__('csv_plugin.oc.summarizers', fromlist=['oc'])
summarizer = dict(
    type=PredictedSummarizer,
    predictors=oc.chosen_predictors([
        ('predicted', join(demo, 'predictor.safetensors')),
        ('all-token', join(demo, 'predictor_uniform.safetensors')),
    ]))
del oc
