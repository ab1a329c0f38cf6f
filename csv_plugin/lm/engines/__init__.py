"""What runs a language model and returns token losses.

`transformers` and vLLM; `csv_plugin.extras.engines` has further ones.
"""
