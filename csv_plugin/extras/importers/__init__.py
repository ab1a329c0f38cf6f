"""Losses that other programs wrote, as features that a predictor learns from.

Each program has one module with a function that reads the losses of one
model; `importing` names them all and joins models, `text_losses` holds the
checks that they share.
"""
