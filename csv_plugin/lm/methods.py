"""The methods that learn a predictor, by name, and `fit`, which calls them.

torch is loaded only where a scoring LM takes part.
"""
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError, check_choice, check_list
from csv_plugin.core.features import FeatureTable, text_columns
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.losses import LossTable, TargetTokens
from csv_plugin.core.model_losses import ModelLosses
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.progress import Progress
from csv_plugin.core.salience import DEFAULT_SOLVER, SOLVERS, Ridge
from csv_plugin.core.texts import TextSet
from csv_plugin.core.training import (FeatureSet, Training, answer_feature_set,
                                      answers_by_source, loss_feature_sets)

if TYPE_CHECKING:
    from torch import Tensor

    from csv_plugin.lm.head import HeadSettings


def feature_sets(table: LossTable,
                 texts: TextSet,
                 targets: TargetTokens,
                 states: Optional['Tensor'] = None) -> list[FeatureSet]:
    """Sets of feature columns for `Auto`, coarse columns first.

    One mean loss per (source, answer or not); one per text; of each source
    with answers, columns of these alone, which are shrunk toward the source's
    label-token loss; and, given hidden states of a scoring LM at the target
    tokens, `(T, H)`, Phi over all tokens and over all answers. The columns of
    a source are Phi if there are states, else one per text.
    """
    sets = loss_feature_sets(table, texts, targets)
    answers = answers_by_source(table, texts, targets)
    if states is None:
        return sets + [
            answer_feature_set(source, text_columns(table, part=part))
            for source, part in answers.items()
        ]
    # Not at the top: it loads torch.
    from csv_plugin.lm.head.state_columns import StateColumns
    sets += [
        answer_feature_set(source, StateColumns.of(states, table, part))
        for source, part in answers.items()
    ]
    sets.append(
        FeatureSet('states', StateColumns.of(states, table), (Ridge(), )))
    if len(answers) > 1:
        tokens = np.any(list(answers.values()), axis=0)
        columns = StateColumns.of(states, table, tokens)
        sets.append(FeatureSet('answer states', columns, (Ridge(), )))
    return sets


def train_auto(training: Training,
               states: Optional['Tensor'] = None,
               validation: Sequence[str] = (),
               settings: Optional['HeadSettings'] = None,
               progress: Progress = iter) -> Predictor:
    """Choose feature columns and solver by cross-validation, and converge.

    States are those of a scoring LM at the target tokens, `(T, H)`; without
    them, columns are made of the losses alone. `validation` and `settings` are
    not used.
    """
    sets = feature_sets(training.losses, training.texts, training.targets,
                        states)
    return training.fit(sets, progress)


def train_paper(training: Training,
                states: Optional['Tensor'] = None,
                validation: Sequence[str] = (),
                settings: Optional['HeadSettings'] = None,
                progress: Progress = iter) -> Predictor:
    """Algorithm 2 as printed: gradient steps, stopped by validation models.

    It needs states, `(T, H)`, of a scoring LM at the target tokens. Settings
    are by default those of the paper.
    """
    from csv_plugin.lm.head import HeadSettings
    from csv_plugin.lm.head.paper_head import train_paper_head
    if states is None:
        raise InputError("the paper's head", 'hidden states of a scoring LM',
                         'none', 'Give a scoring LM.')
    check_validation(validation, training.losses.models)
    return train_paper_head(training, states, validation, settings
                            or HeadSettings(), progress)


#: What trains a predictor on token losses, by the name of the method.
METHODS: dict[str, Callable[..., Predictor]] = {
    'auto': train_auto,
    'paper': train_paper,
}


def check_validation(validation: Sequence[str], models: Sequence[str]) -> None:
    """Refuse models that are not of both kinds, train and validation.

    Raises:
        InputError: All or none of the models are for validation, or a name
            is not among them.
    """
    check_list('validation models', validation)
    for model in validation:
        check_choice('validation models', model, models,
                     'Name models to fit to.')
    if not 0 < len(validation) < len(models):
        raise InputError("the paper's head", 'train and validation models',
                         f'{len(validation)} of {len(models)} for validation',
                         'Fit to train and validation models.')


def fit(losses: Union[ModelLosses, FeatureTable],
        accuracies: AccuracyTable,
        families: Mapping[str, str],
        method: Optional[str] = None,
        scoring_lm: Optional[tuple[Any, Any]] = None,
        validation: Sequence[str] = (),
        seed: int = 0,
        progress: Progress = iter) -> Predictor:
    """Learn from models whose losses and accuracies are known.

    Args:
        losses (Union[ModelLosses, FeatureTable]): Token losses, such as
            `read_dumps` returns, or a table with one loss per unit, such as a
            group of texts. They contain the models of `accuracies`, and
            perhaps others, which are not used.
        accuracies (AccuracyTable): Accuracies of the training models,
            fractions. Benchmarks that none of them was run on are left out.
        families (Mapping[str, str]): Family of each training model; models
            of one family are never separated by cross-validation.
        method (Optional[str]): For token losses a key of `METHODS`, by
            default 'auto'; for a table a key of `salience.SOLVERS`, by
            default `salience.DEFAULT_SOLVER`.
        scoring_lm (Optional[tuple]): A causal LM of `transformers` and its
            tokenizer, whose tokens get the weights; without one, the tokens
            of the first model do.
        validation (Sequence[str]): Models that choose the step, for the
            method 'paper'.
        seed (int): Seed of the folds; same seed, same result.
        progress (Progress): Wraps the benchmarks or the steps.

    Returns:
        Predictor: Predicts models from the same kind of losses. Notes of its
        benchmarks say so if the models were scored in different engines or
        number formats.

    Raises:
        InputError: The method is unknown; there is no model, or one without
            losses or a family; an argument has another type, or is for the
            other kind of losses; or as in `check_validation`,
            `fit_predictor`, `train_auto` and `train_paper`.
    """
    _check_models(accuracies, families)
    accuracies = accuracies.select(benchmarks=accuracies.benchmarks_run)
    if isinstance(losses, FeatureTable):
        if scoring_lm is not None or validation:
            raise InputError('fit on a table of losses',
                             'neither a scoring LM nor '
                             'validation models', 'one of them',
                             'Leave it out: these are for token losses.')
        return _fit_table(losses, accuracies, families, method
                          or DEFAULT_SOLVER, seed, progress)
    if not isinstance(losses, ModelLosses):
        raise InputError('losses', 'ModelLosses or a FeatureTable',
                         f'a {type(losses).__name__}',
                         'Read dumps by read_dumps(paths, texts).')
    method = method or 'auto'
    check_choice('method', method, METHODS)
    losses = losses.select(accuracies.models)
    if validation or method == 'paper':  # Before the states, which take long.
        check_validation(validation, accuracies.models)
    targets, states = _read_texts(losses, scoring_lm)
    table = targets.table({model: losses[model].texts for model in losses})
    training = Training(table, losses.texts, accuracies, families, targets,
                        seed)
    predictor = METHODS[method](
        training, states, validation, progress=progress)
    return predictor.noted({
        model: dump.info
        for model, dump in losses.items()
    })


def _fit_table(losses: FeatureTable, accuracies: AccuracyTable,
               families: Mapping[str, str], solver: str, seed: int,
               progress: Progress) -> Predictor:
    check_choice('solver', solver, sorted(SOLVERS))
    groups = [families[model] for model in accuracies.models]
    return fit_predictor(losses, accuracies, groups, SOLVERS[solver], seed,
                         progress)


def _read_texts(
    losses: ModelLosses, scoring_lm: Optional[tuple[Any, Any]]
) -> tuple[TargetTokens, Optional['Tensor']]:
    """The T tokens that get the weights, and states of the scoring LM there.

    The states, `(T, H)`, are None without a scoring LM, whose tokenizer makes
    the tokens; else that of the first model does.
    """
    if scoring_lm is None:
        return losses.tokens_of(next(iter(losses))), None
    from csv_plugin.lm.hidden_states import hidden_states
    from csv_plugin.lm.tokens.tokenization import target_tokens
    states = hidden_states(*scoring_lm, losses.texts.texts)
    return target_tokens(scoring_lm[1], losses.texts), states


def _check_models(accuracies: AccuracyTable, families: Mapping[str,
                                                               str]) -> None:
    if not isinstance(accuracies, AccuracyTable):
        raise InputError('accuracies', 'an AccuracyTable',
                         f'a {type(accuracies).__name__}',
                         'Make one, or read one by read_accuracies(...).')
    if not accuracies.benchmarks_run:
        raise InputError('accuracies', 'one of a model on a benchmark', 'none',
                         'Run the models to fit to on a benchmark.')
    for model in accuracies.models:
        family = families.get(model)
        # Tables of pandas have NaN or NA in holes.
        if not isinstance(family, str) or not family:
            raise InputError('families', 'the family of every model',
                             f'{family!r} of {model!r}', 'Name its family.')
