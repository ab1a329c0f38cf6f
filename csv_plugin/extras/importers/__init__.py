"""Importers: read losses and accuracies that other evaluation programs wrote.

Each program has one module, with a function that reads the outputs of one
model. `importing` joins the losses of several models to a feature table, from
which a predictor learns.
"""
