"""A small invented world, and language models trained on its writings."""
