"""Token losses and hidden states of language models, and training on them.

`tokens` places the tokens of any tokenizer in a text, `engines` runs a
language model on texts, `states` holds the hidden states of the scoring LM,
`head` learns salience weights from them as the paper does, and `methods` has
all methods of training by name.
"""
