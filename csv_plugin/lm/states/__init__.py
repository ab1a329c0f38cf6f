"""Hidden states of the scoring LM, and feature columns made of them."""
