"""Comparisons as tables for the terminal."""
from csv_plugin.core.comparing import compare
from csv_plugin.report.comparison_report import as_text


def test_accuracies_of_answers_are_in_percent():
    first = {str(item): float(item < 8) for item in range(10)}
    second = {str(item): float(item > 4) for item in range(10)}
    text = as_text(compare(answers=({'exam': first}, {'exam': second})))
    parts = text.split('\n\n')
    table = parts[parts.index('Items') + 1]
    # Five items were solved by A alone, two by B alone.
    assert ' '.join(table.splitlines()[-1].split()).startswith(
        'exam 10 80.0 % 50.0 % 5 2 ')
