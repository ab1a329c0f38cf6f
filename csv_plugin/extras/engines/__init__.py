"""Engines beside transformers and vLLM: servers, CTranslate2, llama.cpp."""
