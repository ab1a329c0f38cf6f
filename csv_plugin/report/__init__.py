"""Make tables of predictions, comparisons and triages for people to read."""
