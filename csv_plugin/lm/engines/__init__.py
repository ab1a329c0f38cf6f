"""Programs that run a language model: `transformers` and vLLM.

`csv_plugin.extras.completions` is a further one.
"""
