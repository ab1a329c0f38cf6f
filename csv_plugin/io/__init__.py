"""Read and write all files of the method, without pickle.

Nothing in this package imports torch, transformers or opencompass.
"""
