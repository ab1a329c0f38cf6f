"""Predictions of the shipped predictors beside the real accuracies."""
from os.path import dirname, join, realpath

from csv_plugin.oc.summarizers import PredictedSummarizer

demo = join(dirname(dirname(dirname(realpath(__file__)))), 'demo')
summarizer = dict(
    type=PredictedSummarizer,
    predictors=[
        ('predicted', join(demo, 'predictor.safetensors')),
        ('all-token', join(demo, 'predictor_uniform.safetensors')),
    ])
