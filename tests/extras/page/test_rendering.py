"""The document: its numbers, that it escapes, that it stands alone."""
import base64
import hashlib
import re
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.escaping import visible
from csv_plugin.core.overall import NamedJoint
from csv_plugin.core.texts import Text
from csv_plugin.extras.heat_maps import HeatMap, Piece, full_weight
from csv_plugin.extras.page.rendering import (N_LEVELS, HeatSection, Picture,
                                              PredictorFile, heat_sections,
                                              render)
from csv_plugin.report.leaderboard_tables import mean_cells
from csv_plugin.report.leaderboards import Leaderboard
from csv_plugin.report.study_tables import fit_errors
from tests.extras.page.pages import (EVIL, Reader, awkward_board, hostile_page,
                                     make_board, make_page, page_cells)
from tests.report.boards import NO_DUMP, predict
from tests.runs import TEXTS, dump, model_losses, train


def test_numbers_and_marks():
    html = render(make_page(awkward_board()))
    reader = Reader(html)
    words = rows_of(html)[3:]
    assert len(words) == 6  # two predictors
    # The model with the largest mean stands first.
    assert words[2] == 'm0 – 40.0 (30–50) – 50.0 40.0 (30–50) −10.0'
    assert words[1] == 'm1 51.0 – – 51.0 40.0 (30–50) −11.0'
    assert words[0] == 'm2 52.0 55.0 (50–60)* +3.0 52.0 60.0 (40–80)>~ +8.0'
    assert words[5] == 'm0 – 40.0 (30–50) – 50.0 40.0 (30–50) −10.0'
    assert {NO_DUMP.reason, 'unknown'
            } <= {attributes.get('title')
                  for _, attributes in reader.tags}
    assert html.count('class="ring"') == 1 + 4
    for note in awkward_board().notes:
        assert note in reader.words
    means = re.findall(r'<tfoot>.*?</tfoot>', html, re.S)
    assert '9.7' in means[0] and '11.5' in means[1]
    assert ('<h1>3 models on 1 benchmark: mean abs. error 9.7 points, 2 of 3 '
            'inside</h1>') in html
    assert '2 of 3' in html and '1 of 5' in html
    assert '“inside”' in html


def test_without_observed_accuracies_the_title_has_the_width_of_intervals():
    plain = page_cells()
    plain.observed.update(dict.fromkeys(plain.observed, NO_DUMP))
    plain.predicted['predicted', 'm1', 'b0'] = predict(.4, .1, .4)
    html = render(make_page(plain.board()))
    assert ('<h1>3 models on 2 benchmarks: 90% intervals are 25.0 points wide '
            'on average</h1>') in html
    assert '“inside”' not in html
    assert 'with the 90% interval in brackets' in html
    # Of known accuracies nothing is left to state.
    for place in plain.predicted:
        plain.predicted[place] = predict(.4, 0, 0, in_sample=True)
    html = render(make_page(plain.board()))
    assert '<h1>3 models on 2 benchmarks</h1>' in html


def test_only_what_the_page_has_is_explained():
    plain = page_cells()
    shown = ' '.join(Reader(render(make_page(plain.board()))).words.split())
    assert 'An observed accuracy is a measurement too' in shown
    for words in ('* a training model', '> far from', '? not predictable',
                  'any if it spans', '2–4 stands for', 'A prediction marked'):
        assert words not in shown
    plain.observed.update(dict.fromkeys(plain.observed, NO_DUMP))
    plain.predicted['predicted', 'm1', 'b0'] = predict(
        .4, .4, .6, extrapolated=True, in_sample=True)
    board = plain.board()
    at_chance = np.zeros(board.predictions.values.shape, bool)
    at_chance[:, 0, 0] = True
    board = Leaderboard.of(replace(board.predictions, at_chance=at_chance))
    shown = ' '.join(Reader(render(make_page(board))).words.split())
    assert 'is a measurement too' not in shown
    for words in ('* a training model', '> far from', '? not predictable',
                  'any if it spans', 'marked > is far from the training mod'):
        assert words in shown


def test_intervals_that_contain_everything_do_not_count():
    """They would be inside, all of them."""
    cells = page_cells()
    cells.predicted['predicted', 'm1', 'b0'] = predict(.4)
    for place in cells.predicted:
        if place != ('predicted', 'm1', 'b0'):
            cells.predicted[place] = predict(.4, .4, .6)
    html = render(make_page(cells.board()))
    assert 'points, 0 of 1 inside</h1>' in html
    assert '<td>0 of 1</td>' in html and '<td>any</td>' in html
    cells.predicted['predicted', 'm1', 'b0'] = predict(.4, .4, .6)
    assert ' inside</h1>' not in render(make_page(cells.board()))


def rows_of(html: str) -> list[str]:
    """Words of all rows of models: of the means, and by predictor."""
    rows = re.findall(r'<tr><th scope="row"><bdi>m\d.*?</tr>', html, re.S)
    return [' '.join(Reader(row).words.split()) for row in rows]


def test_means_and_ranks_stand_first():
    html = render(make_page(awkward_board()))
    assert html.index('id="means"') < html.index('id="scores"')
    # m0 was not run on b0, and m1 was not predicted there by the first: each
    # has a rank by its other means. The best mean stands first, an observed
    # one where there is no prediction.
    assert rows_of(html)[:3] == [
        'm2 52.0 1 57.5* 1 +5.5 40.0 1 −12.0',
        'm1 51.0 2 – – – 40.0 1 −11.0',
        'm0 – – 40.0 2 – 40.0 1 –',
    ]
    assert 'Spearman' not in html  # of so few models
    assert 'id="means"' not in render(make_page(make_board(('m', ), ('b', ))))


def test_means_with_intervals_and_ranges_of_ranks():
    """The numbers of the leaderboard, with other dashes."""
    predictor = train()
    losses = {
        name: dump(name, model_losses(skill))
        for name, skill in zip(('m0', 'm1', 'm2'), (.7, .705, 1.3))
    }
    table, joint = predictor.predict_jointly(losses)
    named = NamedJoint(table.models, table.benchmarks, joint)
    board = Leaderboard.of(table, joints={'predicted': named})
    means = mean_cells(board.overall, 'predicted')
    assert rows_of(render(make_page(board)))[:3] == [
        f'{model} {means[m]} {rank}'.replace('-', '–')
        for model, m, rank in (('m2', 2, '1'), ('m1', 1, '2-3'), ('m0', 0,
                                                                  '2-3'))
    ]


def test_agreement_of_ranks():
    cells = page_cells(tuple(f'm{i}' for i in range(6)))
    for i, (model, benchmark) in enumerate(cells.observed):
        cells.predicted['predicted', model, benchmark] = predict(0.9 - i / 50)
    words = ' '.join(Reader(render(make_page(cells.board()))).words.split())
    assert 'by “predicted” agree with the observed ones to −1.00 (S' in words
    assert 'by “mean-loss” agree' not in words  # the same of all models


@pytest.mark.slow
def test_provenance_of_a_predictor():
    predictor = train(('b0', 'b1'))
    page = make_page(
        make_board(), predictors=[PredictorFile('p', 'f', predictor)])
    html = render(page)
    table, = re.findall('<table aria-label="Benchmarks of p">.*?</table>',
                        html, re.S)
    rows = [
        re.findall('<td[^>]*>(.*?)</td>', row)
        for row in table.split('<tr>')[2:]
    ]
    expected = fit_errors(predictor)
    assert [row[-1] for row in rows] == expected
    assert expected[0] != expected[1]
    assert [row[0] for row in rows
            ] == [f'{100 * part.chance:.1f}' for part in predictor.benchmarks]
    assert rows[0][2] == '16 models'


def test_heat_maps_and_pictures():
    heat = HeatMap(
        Text('t1', 'ab', 'web'),
        [Piece('a', 0.9), Piece('b', float('nan'))])
    page = make_page(
        make_board(),
        heat_maps=[HeatSection('b0', 2.0, [heat])],
        pictures=[Picture('A title', 'A caption', '<svg>ü</svg>')])
    html = render(page)
    assert '<span class="p4" title="+0.9">a</span><span>b</span>' in html
    assert '<bdi>t1</bdi>, from <bdi>web</bdi>' in html
    ramp, = re.findall('<span class="ramp".*?</span>', html, re.S)
    assert re.findall('<i class="(..)">', ramp) == [
        *(f'n{level}' for level in range(N_LEVELS, 0, -1)),
        *(f'p{level}' for level in range(1, N_LEVELS + 1))
    ]
    [image] = [a for tag, a in Reader(html).tags if tag == 'img']
    kind, _, content = image['src'].partition(',')
    assert kind == 'data:image/svg+xml;base64'
    assert base64.b64decode(content).decode('utf-8') == '<svg>ü</svg>'


def test_sections_of_a_predictor():
    predictor = train()
    easy, hard = heat_sections(predictor, TEXTS)
    assert (easy.benchmark, hard.benchmark) == ('easy', 'hard')
    assert easy.full == full_weight(predictor.token_weights('easy'))
    assert heat_sections(predictor, None).reason.startswith('A predictor')


@pytest.mark.slow
def test_hostile_texts_are_text():
    """Escaped everywhere, beside each other in elements of their own."""
    html = render(hostile_page())
    reader = Reader(html)
    assert 'script' not in [tag for tag, _ in reader.tags]
    assert not [a for _, attributes in reader.tags for a in attributes
                if a.startswith('on') or a == 'style']  # yapf: disable
    assert 'alert' not in reader.style
    assert reader.words.count(EVIL) > 25
    assert 'undefined' not in html and '&amp;amp;' not in html
    html = re.sub(r'<figcaption>.*?</figcaption>', '', html, flags=re.S)
    parts = re.findall(r'<(li|p|summary)>(.*?)</\1>', html, re.S)
    named = [part for _, part in parts if 'alert(1)' in part]
    assert len(named) >= 3
    for part in named:
        assert 'alert(1)' not in re.sub(r'<bdi>.*?</bdi>', '', part)


@pytest.mark.parametrize('mark',
                         ['\x00', '\x9f', '\u061c', '\u202e', '\udcff'])
def test_what_cannot_be_seen_is_shown(mark):
    name = f'x{mark}y'
    html = render(make_page(make_board((name, 'm')), title=name))
    html.encode('utf-8')
    assert mark not in html
    assert f'<p class="kicker"><bdi>{visible(name)}</bdi></p>' in html


def test_the_page_stands_alone():
    """Its policy allows no script, and its own style by its hash."""
    html = render(hostile_page())
    assert not re.search(r'https?:|//\w|@import|url\(', html)
    reader = Reader(html)
    for tag, attributes in reader.tags:
        assert tag not in ('iframe', 'object', 'embed', 'form', 'base')
        for name in ('src', 'href', 'srcset'):
            assert attributes.get(name, '#').startswith(('#', 'data:'))
    [policy] = [
        a['content'] for tag, a in reader.tags
        if a.get('http-equiv') == 'Content-Security-Policy'
    ]
    digest = hashlib.sha256(reader.style.encode('utf-8')).digest()
    style_hash = base64.b64encode(digest).decode('ascii')
    assert policy.startswith(
        f"default-src 'none'; style-src 'sha256-{style_hash}'")
    assert 'script' not in policy and 'unsafe' not in policy


@pytest.mark.parametrize('is_known, sizes', [(True, [3, 2]), (False, [5])])
def test_tables_of_many_benchmarks_are_divided(is_known, sizes):
    """Observed accuracies and differences take the place of two of them."""
    names = [f'b{b}' for b in range(5)]
    cells = page_cells(benchmarks=names, labels=('predicted', ))
    if not is_known:
        cells.observed.update(dict.fromkeys(cells.observed, NO_DUMP))
    tables = re.findall('aria-label="Scores on ([^"]*)"',
                        render(make_page(cells.board())))
    assert [len(table.split(', ')) for table in tables] == sizes


def luminance(colour) -> float:
    """Relative luminance of red, green and blue in 0..255."""
    parts = []
    for part in colour:
        share = part / 255
        parts.append(share / 12.92 if share <= .04045 else ((share + .055) /
                                                            1.055)**2.4)
    return .2126 * parts[0] + .7152 * parts[1] + .0722 * parts[2]


def contrast(one, other) -> float:
    darker, lighter = sorted(map(luminance, (one, other)))
    return (lighter + .05) / (darker + .05)


@pytest.mark.parametrize('is_dark', [False, True])
def test_text_can_be_read_on_every_colour(is_dark):
    """The contrast is at least 4.5, that of the guidelines of the web."""
    style = Reader(render(make_page(make_board()))).style
    themes = re.findall(r':root \{(.*?)\}', style, re.S)
    colours = {}
    for name, value in re.findall(r'--(\w+): (#\w+|[\d ]+);', themes[is_dark]):
        if value.startswith('#'):
            digits = value[1:]
            if len(digits) < 6:
                digits = re.sub('(.)', r'\1\1', digits)
            colours[name] = [*bytes.fromhex(digits)[:3]]
        else:
            colours[name] = [*map(int, value.split())]
    text, wash = colours['text'], colours['wash']
    for name in ('text', 'muted', 'blue', 'orange'):
        assert contrast(colours[name], colours['page']) >= 4.5, name
    assert contrast(colours['muted'], wash) >= 4.5
    for sign in ('plus', 'minus'):
        # The darkest shade of tokens.
        share = float(re.findall(rf'var\(--{sign}\) / ([\d.]+)', style)[-1])
        shade = [
            share * part + (1 - share) * below
            for part, below in zip(colours[sign], wash)
        ]
        assert contrast(text, shade) >= 4.5, sign
