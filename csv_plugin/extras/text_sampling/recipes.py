"""Recipes: the benchmarks of a validation set, with their numbers of texts."""
from collections.abc import Sequence
from dataclasses import dataclass, replace

from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.extras.text_sampling.host_datasets import benchmark_name


@dataclass(frozen=True)
class TextSource:
    """A benchmark, and how many of its items are drawn.

    The label-token loss of a benchmark is computed on the source of the same
    name. With `chain_of_thought`, items are the worked examples in the prompts
    and not those of the test split. `dataset`: see
    `host_datasets.find_config`.
    """
    name: str
    dataset: str
    count: int
    chain_of_thought: bool = False


#: The paper's benchmarks by name. The paper takes either C-Eval or CMMLU.
SOURCES = {
    source.name: source
    for source in (
        TextSource('mmlu', 'mmlu_ppl_ac766d', 100),
        TextSource('bbh', 'bbh_gen_98fba6', 100),
        TextSource('gsm8k', 'gsm8k_gen_17d0dc', 100),
        TextSource('hellaswag', 'hellaswag_10shot_ppl_59c85e', 100),
        TextSource('cmmlu', 'cmmlu_ppl_041cbf', 100),
        TextSource('ceval', 'ceval_ppl_1cd8bf', 100),
        TextSource('bbh_cot', 'bbh_gen_98fba6', 50, chain_of_thought=True),
    )
}

#: The 550 texts of the paper (section 4.1). CMMLU is taken rather than C-Eval
#: because its test split has answers.
PAPER_RECIPE = tuple(s for s in SOURCES.values() if s.name != 'ceval')


def recipe_of_samples(samples: Sequence[str]) -> tuple[TextSource, ...]:
    """Return the recipe of `NAME=COUNT`s from the command line.

    The name is a key of `SOURCES`, or a dataset config, whose source is then
    called after its benchmark (`host_datasets.benchmark_name`).

    Raises:
        InputError: A sample has no count above 0, there is no such config,
            or two samples have the same source.
    """
    recipe = []
    for sample in samples:
        name, _, count = sample.rpartition('=')
        if not name or not count.isdecimal() or not int(count):
            raise InputError(f'--sample {sample}',
                             'NAME=COUNT with a count above 0', 'another form',
                             'Write for example gsm8k=100.')
        source = SOURCES.get(name) or TextSource(benchmark_name(name), name, 1)
        recipe.append(replace(source, count=int(count)))
    check_unique('sources of --sample', [source.name for source in recipe])
    return tuple(recipe)
