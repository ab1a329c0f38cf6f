"""A demonstration that needs no download: exams and models of a small world.

`shipped` has the paths of its files. `exams` has the datasets on which
OpenCompass evaluates its models. In a clone of the repository,
`tools/demo_maker` makes the texts, exams, models and predictors.
"""
