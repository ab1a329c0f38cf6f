"""What people look at: tables of predictions, comparisons and triages."""
