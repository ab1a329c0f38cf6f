"""Families of models: their numbers, and the rows of their models."""
from csv_plugin.core.families import (family_numbers, numbers_of_new_models,
                                      rows_of_families)


def test_families_are_numbered_in_their_order():
    numbers = family_numbers(['b', 'a', 'b', 'c'])
    assert numbers.tolist() == [0, 1, 0, 2]
    rows = [part.tolist() for part in rows_of_families(numbers)]
    assert rows == [[0, 2], [1], [3]]


def test_without_names_each_model_is_a_family_alone():
    assert numbers_of_new_models(None, 3).tolist() == [0, 1, 2]
