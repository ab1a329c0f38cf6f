"""Predictions from the bits per character of the dataset llm_compression.

The predictor comes with the package and is fitted to 28 public base models;
CSV_PREDICTORS names others, as in predicted.py.

    opencompass --models ... --datasets llm_compression \\
        --summarizer predicted_bpc --config-dir "$(salience configs --where)"
"""
from os.path import dirname, join, realpath

from csv_plugin.oc.bits_per_character import PredictedBpcSummarizer

package = dirname(dirname(dirname(realpath(__file__))))
# Imports at the top of a config are lazy: they give names, not modules.
oc = __import__('csv_plugin.oc.summarizers', fromlist=['oc'])
summarizer = dict(
    type=PredictedBpcSummarizer,
    predictors=oc.chosen_predictors([
        ('predicted', join(package, 'data', 'bits_per_character.safetensors')),
    ]))
del oc, package
