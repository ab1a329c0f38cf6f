"""Forecasts of where runs, and sizes not trained yet, will end."""
