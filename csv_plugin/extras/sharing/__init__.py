"""Contributions, their merge, Every Eval Ever, predictor cards."""
