"""Predict the accuracies of a model while it trains, from its losses so far.
"""
