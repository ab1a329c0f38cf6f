"""How well each method does on the zoo: the tables of docs/results.md."""
