"""A trial of one Gaussian process of all accuracies.

It is judged on the yard (`tools.studies.yard`) before it replaces the solvers
and the models of error of the package. What was tried stands in LOG.md.
"""
