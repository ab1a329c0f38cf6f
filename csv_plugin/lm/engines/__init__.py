"""Programs that run a language model: `transformers` and vLLM.

`csv_plugin.extras.engines` has further ones.
"""
