"""What people look at: tables of predictions and of their errors."""
