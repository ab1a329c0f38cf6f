"""Run language models with `transformers` or vLLM.

`csv_plugin.extras.completions` contains one more engine, for servers.
"""
