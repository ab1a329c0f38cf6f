"""Token losses and hidden states of language models, and training on them.

`tokens` places the tokens of any tokenizer in a text, `engines` runs a
language model on texts, `head` learns salience weights from hidden states of
a scoring LM, and `methods` has all methods of training by name.
"""
