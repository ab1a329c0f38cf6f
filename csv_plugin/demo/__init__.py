"""A demonstration that needs no download: exams and models of a small world.

`shipped` says where its files lie, `exams` are the datasets on which
OpenCompass evaluates its models. The texts, exams, models and predictors are
made by `tools/demo_maker` in a clone.
"""
