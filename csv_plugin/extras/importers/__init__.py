"""Losses that other programs wrote, as features that a predictor learns from.

Each program has one module with a function that reads the losses of one
model; `importing` joins models.
"""
