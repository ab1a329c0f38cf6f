"""Predictions of the embedded zoo's predictors beside the real scores."""
from os.path import dirname, join, realpath

from csv_plugin.oc.summarizers import PredictedSummarizer

demo = join(dirname(dirname(dirname(realpath(__file__)))), 'demo')
summarizer = dict(
    type=PredictedSummarizer,
    predictors=[
        ('predicted', join(demo, 'predictor.safetensors')),
        ('all-token', join(demo, 'predictor_uniform.safetensors')),
    ])
