"""How far the code of a summary reaches: the longest chain of imports."""
import functools

import pytest

grimp = pytest.importorskip('grimp')

SUMMARIZERS = 'csv_plugin.oc.summarizers'


def longest_chain(graph, start: str) -> tuple[str, ...]:
    """Modules each of which imports the next, anywhere in it."""

    @functools.cache
    def chain_from(module: str) -> tuple[str, ...]:
        chains = map(chain_from,
                     graph.find_modules_directly_imported_by(module))
        return (module, *max(chains, key=len, default=()))

    return chain_from(start)


def test_a_summary_is_ten_imports_deep_at_most():
    graph = grimp.build_graph(
        'csv_plugin', exclude_type_checking_imports=True, cache_dir=None)
    # Names of types are no step that a reader has to follow.
    graph.remove_module('csv_plugin.core.arrays')
    chain = longest_chain(graph, SUMMARIZERS)
    assert len(chain) <= 10, '\n'.join(chain)
