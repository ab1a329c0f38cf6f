"""Learn from models whose losses and accuracies are known.

torch is imported only if a scoring LM is used.
"""
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Optional

import numpy as np
import scipy

from csv_plugin.core.accuracies import AccuracyTable, check_accuracies
from csv_plugin.core.arrays import Booleans
from csv_plugin.core.conventions import (InputError, check_choice, check_list,
                                         check_type, families_of_models)
from csv_plugin.core.features import (Columns, FeatureTable, TokenColumns,
                                      answer_mask, text_columns)
from csv_plugin.core.losses import LossTable, TargetTokens
from csv_plugin.core.model_losses import ModelLosses
from csv_plugin.core.plugins import METHODS, load_plugin, plugin_names
from csv_plugin.core.predictor import Predictor, Units
from csv_plugin.core.progress import Progress
from csv_plugin.core.study import MEAN_LOSS, SALIENCE, Families
from csv_plugin.core.texts import TextSet

if TYPE_CHECKING:
    from csv_plugin.lm.head import HeadSettings
    from csv_plugin.lm.head.paper_head import PaperTraining

#: Name of the method that trains a head on a scoring LM, as in the paper
#: (Algorithm 2). It is not a plug-in, because it needs hidden states, too.
PAPER = 'paper'


def answers_by_source(table: LossTable, texts: TextSet,
                      targets: TargetTokens) -> dict[str, Booleans]:
    """Return a mask of the scored answer tokens of each source, `(T,)`.

    The sources are sorted by name. Sources without answers are left out.
    """
    by_text = [text.source for text in texts]
    sources = np.repeat(by_text, targets.spans.n_tokens)  # (T,)
    answers = answer_mask(texts, targets.spans) & table.scored
    found = {}
    for source in np.unique(sources[answers]):
        found[str(source)] = answers & (sources == source)
    return found


def token_columns(table: LossTable, texts: TextSet, targets: TargetTokens,
                  benchmarks: Sequence[str]) -> tuple[TokenColumns, Units]:
    """Return the columns of token losses, and a description of the columns.

    There is one column per text: its loss in nats per character. Further
    columns contain the losses of single tokens, in nats. These are the tokens
    of right answers in texts whose source has the name of a benchmark. Only
    tokens that every model scored are used.
    """
    of_texts = text_columns(table)
    text_part = of_texts.columns
    n_texts = len(text_part.units)
    units = list(text_part.units)
    answers = {}
    token_indices: list[int] = []
    for name, mask in answers_by_source(table, texts, targets).items():
        if name in benchmarks:
            tokens = np.flatnonzero(mask).tolist()
            first = n_texts + len(token_indices)
            answers[name] = np.arange(first, first + len(tokens))
            token_indices += tokens
            for token in tokens:
                units.append(f'answers of {name}: token {token}')
    # The column of a token contains a single 1, in the row of the token.
    n_single = len(token_indices)
    positions = token_indices, np.arange(n_single)
    shape = len(table.scored), n_single
    ones = np.ones(n_single)
    single = scipy.sparse.csc_array((ones, positions), shape)
    joined = scipy.sparse.hstack([of_texts.matrix, single])
    matrix = scipy.sparse.csc_array(joined)
    uniform = np.append(text_part.uniform, np.zeros(n_single))
    columns = Columns(
        tuple(units), uniform, table.fingerprint, text_part.scored)
    source_of_text = {}
    for text_id, text in zip(table.text_ids, texts):
        source_of_text[text_id] = text.source
    sources = [source_of_text[unit] for unit in text_part.units]
    described = Units(np.arange(n_texts), np.array(sources), answers)
    return TokenColumns(columns, matrix), described


def check_validation(validation: Sequence[str], models: Sequence[str]) -> None:
    """Refuse a choice that leaves no model to train on or to validate on.

    Raises:
        InputError: All or none of `models` are for validation, or a name in
            `validation` is not in `models`.
    """
    check_list('validation models', validation)
    for model in validation:
        check_choice('validation models', model, models,
                     'Name only models that the predictor is fitted to.')
    n_validation = len(validation)
    n_train = len(models) - n_validation
    if not n_validation or n_train < 1:
        raise InputError(
            "the paper's head",
            'at least one model to train on and one to validate on',
            f'{n_train} to train on and {n_validation} to validate on',
            "In the column split of --models, write 'validation' for some "
            "models and 'train' for the others, and name both splits in --fit "
            '(in Python: the argument validation).')


def method_names() -> tuple[str, ...]:
    """Return the names of all methods of `fit`, the default one first."""
    declared = plugin_names(METHODS)
    rest = [name for name in declared if name != SALIENCE]
    return (SALIENCE, *rest, PAPER)


def fit(losses: ModelLosses | FeatureTable,
        accuracies: AccuracyTable,
        families: Families,
        method: str = SALIENCE,
        scoring_lm: Optional[tuple[Any, Any]] = None,
        validation: Sequence[str] = (),
        settings: Optional['HeadSettings'] = None,
        progress: Progress = iter) -> Predictor:
    """Learn from models whose losses and accuracies are known.

    Args:
        losses (ModelLosses | FeatureTable): Token losses, such as
            `read_dumps` returns, or a table with one loss per unit; a unit is,
            for example, a group of texts. All models of `accuracies` must have
            losses. Further models are not used.
        accuracies (AccuracyTable): Accuracies of the training models as
            fractions. Benchmarks on which no model was run are left out.
        families (Mapping[str, str]): Family of each training model. The
            errors that models of a family have in common are used to estimate
            how large errors are for new families.
        method (str): 'salience', 'mean-loss', 'paper', or a method that
            another package declares.
        scoring_lm (Optional[tuple]): A causal LM of `transformers` and its
            tokenizer. Weights are given to its tokens, by default to the
            tokens of the first model.
        validation (Sequence[str]): For the method 'paper', the models that
            choose the training step.
        settings (Optional[HeadSettings]): Settings of the method 'paper'; by
            default the settings of the paper.
        progress (Progress): Wraps the steps of the methods 'salience' and
            'paper'.

    Returns:
        Predictor: Predicts accuracies of models from the same kind of losses.
        If the training models were scored in different engines or number
        formats, notes of the predictor say so.

    Raises:
        InputError: The method is unknown; there is no model; a model has no
            losses or no family; an argument has a wrong type, or does not fit
            this kind of losses; or `check_validation`, `fit_predictor` or
            `train_paper_head` refuses the data.
    """
    check_accuracies('accuracies', accuracies)
    if not accuracies.benchmarks_run:
        raise InputError('accuracies',
                         'at least one accuracy of a model on a benchmark',
                         'none', 'Run the training models on a benchmark.')
    groups = families_of_models(families, accuracies.models)
    check_choice('method', method, method_names())
    accuracies = accuracies.select(benchmarks=accuracies.benchmarks_run)
    if method != PAPER and (validation or settings is not None):
        raise InputError(f'fit by {method!r}',
                         'neither validation models nor settings of '
                         'a head', 'at least one of the two',
                         "Leave both out, or use the method 'paper'.")
    if isinstance(losses, FeatureTable):
        if scoring_lm is not None or method == PAPER:
            raise InputError('fit on a table of losses',
                             'neither a scoring LM nor the '
                             "method 'paper'", 'at least one of the two',
                             'Leave them out, or give token losses.')
        fit_to = _fit_by(method, progress)
        return fit_to(losses, accuracies, groups)
    check_type(
        'losses', losses, ModelLosses, 'ModelLosses or a FeatureTable',
        'Read dumps with read_dumps(paths, texts), or make a table '
        'with FeatureTable.of_losses(...).')
    if method == PAPER:
        training = train_paper(losses, accuracies, families, scoring_lm,
                               validation, (), settings, progress)
        return training.predictor
    losses = losses.select(accuracies.models)
    targets = _target_tokens(losses, scoring_lm)
    table = _table(targets, losses)
    # The baseline does not use columns of answer tokens.
    answered = () if method == MEAN_LOSS else accuracies.benchmarks
    source, units = token_columns(table, losses.texts, targets, answered)
    features = source.features(table)
    fit_to = _fit_by(method, progress)
    predictor = fit_to(features, accuracies, groups, units)
    with_tokens = predictor.with_tokens(targets, source)
    return _noted(with_tokens, losses)


def _fit_by(method: str, progress: Progress) -> Callable[..., Predictor]:
    """Return the function that fits to columns of losses by a method."""
    fit_to: Callable[..., Predictor] = load_plugin(METHODS, method)
    if method == SALIENCE:
        # Methods of other packages take no `progress`.
        fit_to = partial(fit_to, progress=progress)
    return fit_to


def train_paper(losses: ModelLosses,
                accuracies: AccuracyTable,
                families: Families,
                scoring_lm: Optional[tuple[Any, Any]],
                validation: Sequence[str],
                watched: Sequence[str] = (),
                settings: Optional['HeadSettings'] = None,
                progress: Progress = iter) -> 'PaperTraining':
    """Train by Algorithm 2, and record every step.

    The arguments are as in `fit`, but `accuracies` also contains the `watched`
    models. The errors of the watched models are recorded at every step, and do
    not influence the training.

    Raises:
        InputError: There is no scoring LM, or `check_validation` or
            `train_paper_head` refuses the data.
    """
    fitted = [name for name in accuracies.models if name not in watched]
    # These checks come before the hidden states, whose computation takes long.
    check_validation(validation, fitted)
    if scoring_lm is None:
        raise InputError("the paper's head", 'hidden states of a scoring LM',
                         'none', 'Give a scoring LM and its tokenizer.')
    # These imports are not at the top, because they import torch.
    from csv_plugin.lm.head import HeadSettings
    from csv_plugin.lm.head.paper_head import train_paper_head
    from csv_plugin.lm.hidden_states import states_in_parts
    was_run = accuracies.select(fitted).benchmarks_run
    accuracies = accuracies.select(benchmarks=was_run)
    others = losses.select(watched)
    losses = losses.select(fitted)
    targets = _target_tokens(losses, scoring_lm)
    states = states_in_parts(*scoring_lm, losses.texts.texts)
    if settings is None:
        settings = HeadSettings()
    own_families = [families[name] for name in fitted]
    table = _table(targets, losses)
    table_of_watched = _table(targets, others) if watched else None
    training = train_paper_head(table, targets, states, accuracies,
                                own_families, validation, settings, progress,
                                table_of_watched)
    noted = _noted(training.predictor, losses)
    return training._replace(predictor=noted)


def _table(targets: TargetTokens, losses: ModelLosses) -> LossTable:
    """Return the losses of all models on the target tokens."""
    by_model = {model: dump.texts for model, dump in losses.items()}
    return targets.table(by_model)


def _noted(predictor: Predictor, losses: ModelLosses) -> Predictor:
    """Return the predictor with notes on how losses were measured.

    There is a note if the engines or the number formats of models differ.
    """
    infos = {model: dump.info for model, dump in losses.items()}
    return predictor.noted(infos)


def _target_tokens(losses: ModelLosses,
                   scoring_lm: Optional[tuple[Any, Any]]) -> TargetTokens:
    """Return the tokens of the scoring LM, by default of the first model."""
    if scoring_lm is None:
        first_model = next(iter(losses))
        return losses.tokens_of(first_model)
    from csv_plugin.lm.tokens.tokenization import target_tokens
    _, tokenizer = scoring_lm
    return target_tokens(tokenizer, losses.texts)
