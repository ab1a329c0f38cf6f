"""Where each token of any tokenizer lies in a text, in bytes."""
