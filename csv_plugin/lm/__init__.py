"""Token losses and hidden states of language models, and training on them.

`tokens` finds the bytes of a text that each token covers, `engines` runs a
language model on texts, `head` learns salience weights from hidden states of a
scoring LM, and `methods` trains predictors by the method that the user names.
"""
