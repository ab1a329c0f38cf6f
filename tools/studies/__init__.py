"""Studies of the method, run from the root of a clone."""
