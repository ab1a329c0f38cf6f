"""The method itself, on numpy and scipy alone.

Nothing in here imports torch, transformers or opencompass.
"""
