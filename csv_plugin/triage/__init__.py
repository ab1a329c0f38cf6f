"""Forecast the final accuracies of pretraining runs and of model sizes."""
