"""Token losses of language models on a set of texts, one dump for each.

    salience losses my/model other=runs/mix/checkpoint-100 \\
        --texts texts.jsonl --out outputs/losses

With an engine other than transformers (docs/engines.md):

    salience losses my/model --engine vllm-server \\
        --url http://localhost:8000 --tokenizer my/model \\
        --texts texts.jsonl --out outputs/losses

A call that was interrupted goes on when it is made again. On several machines
that share the folder, --part 1/4 to --part 4/4 score a quarter of the models
each (docs/cluster.md).
"""
import argparse
import hashlib
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Optional

from tqdm import tqdm

from csv_plugin.cli.arguments import add_out, add_texts, check_folder
from csv_plugin.cli.opening_engines import (ENGINES, EngineOptions,
                                            check_engine, open_engine, setting,
                                            what_counts)
from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.core.escaping import one_line
from csv_plugin.core.model_losses import DumpInfo
from csv_plugin.core.texts import TextSet
from csv_plugin.io.dumps import merge_dumps, read_dump, write_dump
from csv_plugin.io.files import check_file_names
from csv_plugin.io.model_paths import (checkpoint_folders, name_and_path,
                                       weights_newer)
from csv_plugin.io.text_sets import read_texts


def numbered_part(text: str) -> tuple[int, int]:
    """Type of the option `--part`: its number, from 1, and that of parts.

    Raises:
        argparse.ArgumentTypeError: It is not such as 1/4.

    >>> numbered_part('1/4')
    (1, 4)
    """
    number, _, count = text.partition('/')
    if not (number.isdecimal() and count.isdecimal()
            and 1 <= int(number) <= int(count)):
        raise argparse.ArgumentTypeError(
            f'expected a part such as 1/4, found {text!r}')
    return int(number), int(count)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _add_models(parser)
    add_texts(parser)
    add_out(parser, 'the dumps NAME.safetensors')
    _add_engine(parser)
    parser.add_argument(
        '--part',
        type=numbered_part,
        default=(1, 1),
        metavar='I/N',
        help='score every N-th model from the I-th on (default: all)')


def _add_models(parser: argparse.ArgumentParser) -> None:
    """What is to be scored."""
    parser.add_argument(
        'models',
        nargs='*',
        metavar='MODEL',
        help='folder or name on the hub of each model, which is\n'
        'called after it, or NAME=MODEL (this or --checkpoints\n'
        'is required)')
    parser.add_argument(
        '--checkpoints',
        metavar='PATTERN',
        help="folders of checkpoints, such as 'runs/*/checkpoint-*',\n"
        'which are called run@step (default: none)')


def _add_engine(parser: argparse.ArgumentParser) -> None:
    """How it is scored."""
    parser.add_argument(
        '--engine',
        choices=ENGINES,
        metavar='NAME',
        help='the program that runs the models: transformers, vllm,\n'
        'vllm-server, sglang-server, ctranslate2 or llama-cpp\n'
        '(default transformers)')
    parser.add_argument(
        '--tokenizer',
        metavar='PATH',
        help='tokenizer, a folder or a name on the hub (default: that\n'
        "in the model's folder; required with servers,\n"
        'CTranslate2 and llama.cpp)')
    parser.add_argument(
        '--url', metavar='URL', help='address of a server; required with one')
    parser.add_argument(
        '--dtype',
        choices=('float32', 'bfloat16', 'float16'),
        help='number format of the weights; that of a server, which\n'
        'does not tell it, is noted in the dump (default: with\n'
        'transformers bfloat16 on a GPU, else float32; else that\n'
        'of the engine)')
    parser.add_argument(
        '--setting',
        action='append',
        default=[],
        type=setting,
        metavar='NAME=VALUE',
        help='further argument of the engine, such as context=2048,\n'
        'which CTranslate2 and llama.cpp need, or of its own\n'
        'program; may be given several times (default: none)')
    parser.add_argument(
        '--trust-remote-code',
        action='store_true',
        help='run code that comes with the models (default: no)')


def run(args: argparse.Namespace) -> None:
    check_folder(args.out)
    check_unique('--setting', [name for name, _ in args.setting])
    options = EngineOptions(args.engine
                            or 'transformers', args.url, args.dtype,
                            dict(args.setting), args.trust_remote_code)
    named = named_models(args.models, args.checkpoints)
    number, count = args.part
    models = dict(list(named.items())[number - 1::count])
    check_engine(options, args.tokenizer, len(models))
    texts = read_texts(args.texts)
    failed: list[str] = []
    stated = {'dtype': args.dtype} if args.dtype else {}
    if args.engine:
        stated['engine'] = ENGINES[args.engine].recorded

    for name, path in models.items():
        losses = _Losses(name, path, args.tokenizer, options, texts, args.out)
        try:
            done = losses.score(stated)
        # The others may be sound.
        except (InputError, OSError) as error:
            print(f'error: {name}: {error}', file=sys.stderr, flush=True)
            failed.append(name)
        else:
            print(one_line(f'{name}: {done}'), flush=True)
    if failed:
        raise InputError(
            'models', f'losses of all {len(models)}',
            f'none of {", ".join(failed)}',
            'Correct what is said above and call again, which keeps the rest.')


def named_models(models: Sequence[str],
                 checkpoints: Optional[str]) -> dict[str, str]:
    """Folders, files or names of models, by what to call them.

    Args:
        models (Sequence[str]): Such as `my/model` or `mine=my/model`.
        checkpoints (Optional[str]): Pattern of folders.

    Raises:
        InputError: There are none, two have one name, or a name cannot be
            that of a file.
    """
    named = [name_and_path(model) for model in models]
    if checkpoints:
        named += [(name, str(path))
                  for name, path in checkpoint_folders(checkpoints).items()]
    if not named:
        raise InputError('MODEL or --checkpoints', 'one of them', 'none',
                         'Name the models to score.')
    check_unique('names of models', [name for name, _ in named])
    check_file_names('model', [name for name, _ in named],
                     'Give a name, as in NAME=MODEL.')
    return dict(named)


class _Losses:
    """The dump of a model, and chunks of it until it is whole.

    Args:
        name (str): Of the model.
        model (str): Its folder or file, or its name on the hub or a server.
        tokenizer (Optional[str]): By default that in its folder.
        options (EngineOptions): Of the engine.
        texts (TextSet): All that are to be scored.
        out (Path): Folder of the dumps.
    """

    def __init__(self, name: str, model: str, tokenizer: Optional[str],
                 options: EngineOptions, texts: TextSet, out: Path) -> None:
        self.name, self.model, self.texts = name, model, texts
        self.tokenizer = tokenizer or model
        self.options = options
        self.file = out / f'{name}.safetensors'
        self.chunks = out / f'{name}.parts'

    def score(self, stated: Mapping[str, str]) -> str:
        """Score the model if there is no dump, and say what was done.

        Args:
            stated (Mapping[str, str]): What a dump that is there has to
                record, by the name of the field.

        Returns:
            str: A line.

        Raises:
            InputError: The model cannot be scored, what was scored before
                does not fit, or nothing can be written.
        """
        if self.file.exists():
            said = self._there(stated)
        else:
            self._write()
            said = f'{len(self.texts)} texts, {self.file}'
        shutil.rmtree(self.chunks, ignore_errors=True)
        return said

    def _there(self, stated: Mapping[str, str]) -> str:
        """Refuse the dump of another model, or of another engine."""
        info: DumpInfo = merge_dumps([read_dump(self.file)], self.texts).info
        for field, value in {'tokenizer': self.tokenizer, **stated}.items():
            if getattr(info, field) != value:
                raise InputError(
                    str(self.file), f'losses with the {field} {value!r}',
                    repr(getattr(info, field)),
                    'Remove it, or choose another name or folder.')
        said = f'{self.file} is there ({info.engine}, {info.dtype})'
        if weights_newer(self.model, self.file):
            said += (', but the model was written after it: remove it to '
                     'have the model scored anew')
        return said

    def _write(self) -> None:
        from csv_plugin.lm.dumping import dump_losses

        # Chunks of a call that was interrupted are of its model and settings.
        call = json.dumps(
            what_counts(self.model, self.options), sort_keys=True)
        mark = hashlib.sha256(call.encode()).hexdigest()[:16]
        engine, tokenizer = open_engine(self.model, self.options,
                                        self.tokenizer)
        dump = dump_losses(
            engine,
            tokenizer,
            self.texts,
            name=self.name,
            folder=self.chunks / mark,
            progress=partial(tqdm, desc=self.name))
        write_dump(self.file, dump)
