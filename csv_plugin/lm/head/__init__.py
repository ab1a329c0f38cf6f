"""The scoring head (Eq. 3) and its training in the paper (Algorithm 2)."""
