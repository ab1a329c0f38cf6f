"""What runs a language model and returns token losses.

Today that is Hugging Face `transformers`.
"""
