"""Predict a language model's benchmark accuracy from its token losses."""

__version__ = '0.1.0'
