"""The engine beside transformers and vLLM: a server."""
