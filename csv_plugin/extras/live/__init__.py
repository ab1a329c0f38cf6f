"""Predictions while a model trains, by its losses so far."""
