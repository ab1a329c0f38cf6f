"""Predictions of a model while it trains, from its losses so far."""
