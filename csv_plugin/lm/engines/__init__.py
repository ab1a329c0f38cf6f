"""Programs that run a language model: `transformers` and vLLM.

`csv_plugin.extras.completions` contains one more engine, for servers.
"""
