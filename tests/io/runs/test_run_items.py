"""How many items a run has predictions of."""
import json

import pytest

from csv_plugin.io.runs.run_items import items_run


def entries(n_items, text='a'):
    # Lines of a text are not lines of the file.
    return json.dumps(
        {
            str(i): dict(prediction=f'{text}\n    "9": {{')
            for i in range(n_items)
        },
        indent=4)


@pytest.mark.parametrize('parts, expected', [
    ({}, 0),
    ({
        'exam.json': entries(7)
    }, 7),
    ({
        'exam.json': entries(7, 'a' * 10**5)
    }, 7),
    ({
        'exam.json': entries(300, 'a' * 1000)
    }, 300),
    ({
        'exam.json': json.dumps({
            '0': {},
            '1': {}
        })
    }, 2),
    ({
        'exam_0.json': entries(5),
        'exam_1.json': entries(4)
    }, 9),
    ({
        'exam_0.json': entries(5),
        'exam_2.json': entries(4)
    }, 5),
    ({
        'examine.json': entries(5)
    }, 0),
])
def test_items_of_whole_and_of_partitioned_runs(tmp_path, parts, expected):
    folder = tmp_path / 'predictions' / 'm'
    folder.mkdir(parents=True)
    for name, content in parts.items():
        (folder / name).write_text(content, 'utf-8')
    assert items_run(tmp_path, 'm', 'exam') == expected
