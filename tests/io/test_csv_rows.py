"""Cells of CSV files: plain numbers, plain text, or an error."""
import math

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.io.csv_rows import read_rows
from csv_plugin.io.tables import read_accuracies
from tests.io.mutations import mutations


@pytest.mark.parametrize('cell, number', [
    ('0', 0), ('-2.50', -2.5), ('+1.', 1), ('.5', .5), (' 7 ', 7),
    ('1e-3', .001), ('1E+2', 100), ('0007', 7), (str(2**80), 2**80)
])  # yapf: disable
def test_plain_numbers(tmp_path, cell, number):
    path = tmp_path / 'a.csv'
    path.write_text(f'key,x\na,{cell}\n')
    row, = read_rows(path, ('key', 'x'))
    assert row.number('x') == number


@pytest.mark.parametrize('cell', [
    '1_000', '１２', '٣', '0x1f', '1e400', 'inf', '-Infinity', 'nan', '1 0',
    '', '.', 'e5', '1e', '--1', '1.2.3', '9' * 400, '½', '²'
])  # yapf: disable
def test_what_only_python_takes_for_a_number(tmp_path, cell):
    path = tmp_path / 'a.csv'
    path.write_text(f'key,x\na,{cell}\n', 'utf-8')
    row, = read_rows(path, ('key', 'x'))
    with pytest.raises(InputError, match="a.csv, line 2, column 'x': .*finit"):
        row.number('x')


@pytest.mark.parametrize('content, found', [
    ('key,x\na,1\nb,\0\n', 'line 3: expected text, found a NUL'),
    ('\0\n', 'line 1: expected text, found a NUL'),
    (f'key,x\na,{"1" * 200_000}\n', 'field larger than field limit'),
    ('key,x\na,1,2\n', "3 cells, no column for cell '2'"),
    ('key,x,\na,1,2\n', 'column 3: expected a name that no earlier'),
    ('key,x,x\na,1,2\n', "column 3: .* found 'x'"),
])
def test_files_that_are_no_table(tmp_path, content, found):
    path = tmp_path / 'a.csv'
    path.write_text(content)
    with pytest.raises(InputError, match=found) as error:
        read_rows(path, ('key', 'x'))
    assert len(str(error.value)) < 400


@pytest.mark.parametrize('cell, remedy', [
    ('25.4%', 'Divide percentages by 100'), ('0,254', 'with a decimal point'),
    ('1_000', 'with a decimal point'), ('3 000.5', 'with a decimal point'),
    ('12.05.2026', 'made a date'), ('2026-05-12', 'made a date'),
    ('1.234.567', 'with a decimal point'),
    ('', 'Write a number there'), ('N/A', 'Write a number there'),
    ('nan', 'Write a number there'), ('-', 'Write a number there')
])  # yapf: disable
def test_remedies_fit_the_cell(tmp_path, cell, remedy):
    path = tmp_path / 'a.csv'
    path.write_text(f'key,x\na,"{cell}"\n', 'utf-8')
    row, = read_rows(path, ('key', 'x'))
    with pytest.raises(InputError, match=remedy):
        row.number('x')


@pytest.mark.parametrize('header, message', [
    (',x', "expected a column 'key', found none in the header ',x'. Column 1 "
     'has no name: is it this one?'),
    ('name,x', "expected a column 'key', found none in the header 'name,x'. "
     'Add or rename it, and separate columns by commas'),
    ('key;x', "found none in the header 'key;x'. .* separate columns by comm"),
])
def test_headers_without_a_column(tmp_path, header, message):
    path = tmp_path / 'a.csv'
    path.write_text(f'{header}\na,1\n', 'utf-8')
    with pytest.raises(InputError, match=message):
        read_rows(path, ('key', 'x'))


def test_a_mark_before_the_header_is_named(tmp_path):
    path = tmp_path / 'a.csv'
    path.write_text('\ufeff\ufeffkey,x\na,1\n', 'utf-8')
    with pytest.raises(InputError, match='begins with a byte order mark, inv'):
        read_rows(path, ('key', 'x'))
    path.write_text('\ufeffkey,x\na,1\n', 'utf-8')
    assert read_rows(path, ('key', 'x'))[0].cells == {'key': 'a', 'x': '1'}


def test_damaged_tables_give_accuracies_or_an_error(tmp_path):
    scores, benchmarks = tmp_path / 's.csv', tmp_path / 'b.csv'
    intact = {
        scores: 'model,exam,"a, b"\nm@1,0.25,\nm@2,.5,1e-2\n'.encode(),
        benchmarks: 'benchmark,chance,n_items,main\nexam,0.25,100,1\n'
                    '"a, b",0,,\n'.encode()
    }  # yapf: disable
    for path in intact:
        for seed, damaged in enumerate(mutations(intact[path], 300)):
            for other, data in intact.items():
                other.write_bytes(damaged if other == path else data)
            try:
                table = read_accuracies(scores, benchmarks)
            except InputError as error:
                assert '\n' not in str(error) and len(str(error)) < 3000
                continue
            assert all(
                math.isnan(value) or 0 <= value <= 1
                for value in table.values.flat)
            assert all(0 <= chance < 1 for chance in table.chance)
            assert all(0 <= n < 2**53 for n in table.n_items)
