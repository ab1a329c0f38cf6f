"""Find the bytes of a text that each token of any tokenizer covers."""
