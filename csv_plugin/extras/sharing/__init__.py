"""Give and take: contributions, their merge, Every Eval Ever, cards."""
