"""Forecasts where pretraining runs will end, from losses of checkpoints."""
