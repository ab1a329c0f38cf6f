"""What language models contribute: token losses and hidden states.

`tokens` places the tokens of any tokenizer in a text, `engines` runs a
language model on the texts, `dumping` makes a token-loss dump of it,
`states` holds the hidden states of a scoring LM and `head` the training of
the paper on them.
"""
