"""The method itself, on numpy and scipy (and threadpoolctl) alone."""
