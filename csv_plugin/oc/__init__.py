"""OpenCompass classes: models, datasets, inferencers, evaluators, summarizers.
"""
