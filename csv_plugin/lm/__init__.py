"""Token losses and hidden states of language models."""
