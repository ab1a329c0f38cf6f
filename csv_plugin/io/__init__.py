"""Files: tables and predictors. No pickle anywhere."""
