"""Files: everything that the method reads and writes, without pickle.

Nothing in here imports torch, transformers or opencompass.
"""
