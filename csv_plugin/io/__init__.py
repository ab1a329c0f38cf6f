"""Files: tables, predictors, validation sets, token-loss dumps. No pickle."""
