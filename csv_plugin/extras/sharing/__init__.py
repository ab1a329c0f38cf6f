"""Every Eval Ever, a format for scores of any evaluation."""
