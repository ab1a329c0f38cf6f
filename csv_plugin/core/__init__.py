"""The method itself, on numpy and scipy (and threadpoolctl) alone.

Nothing in here imports torch, transformers or opencompass.
"""
