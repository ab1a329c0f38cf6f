"""Facts that travel with the package, as CSV files."""
