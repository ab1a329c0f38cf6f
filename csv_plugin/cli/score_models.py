"""Token losses of language models on a set of texts, one dump for each.

    salience losses my/model other=runs/mix/checkpoint-100 \\
        --texts texts.jsonl --out outputs/losses

With an engine other than transformers (docs/engines.md):

    salience losses my/model --engine vllm-server \\
        --url http://localhost:8000 --tokenizer my/model \\
        --texts texts.jsonl --out outputs/losses

A call that was interrupted goes on when it is made again. On several machines
that share the folder, --shard 1/4 to --shard 4/4 score a quarter of the texts
each; a last call without --shard joins them. docs/cluster.md scores many
models on many machines.
"""
import argparse
import shutil
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Optional

from tqdm import tqdm

from csv_plugin.cli.arguments import (add_out, add_texts, check_folder,
                                      whole_number)
from csv_plugin.cli.dump_parts import REST, DumpParts
from csv_plugin.cli.opening_engines import (ENGINES, EngineOptions,
                                            check_engine, open_engine, setting,
                                            what_counts)
from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.core.escaping import one_line
from csv_plugin.core.model_losses import DumpInfo, TokenLossDump
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.checkpoint_folders import checkpoint_folders
from csv_plugin.io.dumps import read_dump, write_dump
from csv_plugin.io.file_names import check_file_names
from csv_plugin.io.model_paths import name_and_path
from csv_plugin.io.shards import merge_dumps
from csv_plugin.io.text_sets import read_texts
from csv_plugin.io.weight_files import weights_newer

#: A part of the work: its number, from 1, and the number of parts.
Shard = tuple[int, int]


def numbered_part(text: str) -> Shard:
    """Type of the option `--shard`.

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
    add_out(parser, 'the dumps NAME.parquet')
    _add_engine(parser)
    parser.add_argument(
        '--shard',
        type=numbered_part,
        metavar='I/N',
        help='score the I-th of N parts of the texts (default: all\n'
        'that is not scored)')


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
        '--context',
        metavar='N',
        type=partial(whole_number, least=2),
        help="most tokens that a model reads at once (default: the\n"
        "model's own; required with CTranslate2 and llama.cpp)")
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
        help="setting of the engine's own program, such as\n"
        'tensor_parallel_size=2; may be given several times\n'
        '(default: none)')
    parser.add_argument(
        '--trust-remote-code',
        action='store_true',
        help='run code that comes with the models (default: no)')


def run(args: argparse.Namespace) -> None:
    check_folder(args.out)
    check_unique('--setting', [name for name, _ in args.setting])
    options = EngineOptions(args.engine or 'transformers',
                            args.url, args.context, args.dtype,
                            dict(args.setting), args.trust_remote_code)
    models = named_models(args.models, args.checkpoints)
    check_engine(options, args.tokenizer, len(models))
    texts = read_texts(args.texts)
    failed: list[str] = []
    stated = {'dtype': args.dtype} if args.dtype else {}
    if args.engine:
        stated['engine'] = ENGINES[args.engine].recorded

    for name, path in models.items():
        losses = _Losses(name, path, args.tokenizer, options, texts, args.out)
        try:
            done = losses.score(args.shard, stated)
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
    """The dump of a model, and its parts until it is whole.

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
        self.file = out / f'{name}.parquet'
        self.parts = DumpParts(out / f'{name}.parts', {
            **what_counts(self.model, self.options), 'tokenizer':
            self.tokenizer
        })

    def score(self, shard: Optional[Shard], stated: Mapping[str, str]) -> str:
        """Score what is not scored, and say what was done, in a line.

        Args:
            shard (Optional[Shard]): The part to score; None for all.
            stated (Mapping[str, str]): What a dump that is there has to
                record, by the name of the field.

        Raises:
            InputError: The model cannot be scored, what was scored before
                does not fit, or nothing can be written.
        """
        if self.file.exists():
            info = merge_dumps([read_dump(self.file)], self.texts).info
            self._check_whole(info, stated)
            self.parts.remove()
            said = f'{self.file} is there ({info.engine}, {info.dtype})'
            if weights_newer(self.model, self.file):
                said += (', but the model was written after it: remove it to '
                         'have the model scored anew')
            return said
        self.parts.check_call()
        if shard:
            part, label = self._shard(shard), '{}-of-{}'.format(*shard)
            file = self.parts.folder / f'{label}.parquet'
            if file.exists():
                self._check_part(file, part)
                return f'{file} is there'
            write_dump(file, self._scored(part, label))
            shutil.rmtree(self.parts.folder / label, ignore_errors=True)
            return f'{len(part)} of {len(self.texts)} texts, {file}'
        parts = self.parts.read()
        done = {text.text_id for part in parts for text in part.texts}
        rest = [text for text in self.texts if text.text_id not in done]
        if rest:
            parts.append(self._scored(rest, REST))
        write_dump(self.file, merge_dumps(parts, self.texts))
        self.parts.remove()
        return f'{len(self.texts)} texts, {self.file}'

    def _shard(self, shard: Shard) -> list[Text]:
        number, count = shard
        if count > len(self.texts):
            raise InputError('--shard', f'at most {len(self.texts)} parts, '
                             'as many as there are texts', str(count),
                             'Make fewer parts.')  # yapf: disable
        return list(self.texts.texts[number - 1::count])

    def _check_whole(self, info: DumpInfo, stated: Mapping[str, str]) -> None:
        """Refuse the dump of another model, or of another engine."""
        wanted = {'tokenizer': self.tokenizer, **stated}
        for field, value in wanted.items():
            if getattr(info, field) != value:
                raise InputError(
                    str(self.file), f'losses with the {field} {value!r}',
                    repr(getattr(info, field)),
                    'Remove it, or choose another name or folder.')

    def _check_part(self, file: Path, part: Sequence[Text]) -> None:
        """Refuse the part of other texts."""
        scored = [(text.text_id, text.sha256)
                  for text in read_dump(file).texts]
        if scored != [(text.text_id, text.sha256) for text in part]:
            raise InputError(
                str(file), 'losses on these texts', 'losses on others',
                'Remove it, or choose another folder.')

    def _scored(self, part: Sequence[Text], label: str) -> TokenLossDump:
        """Losses on some of the texts; chunks of them are kept."""
        from csv_plugin.lm.dumping import dump_info, dump_losses
        context = self.options.context
        engine, tokenizer = open_engine(self.model, self.options,
                                        self.tokenizer)
        self.parts.begin(
            dump_info(engine, tokenizer, self.texts, self.name, context))
        return dump_losses(
            engine,
            tokenizer,
            self.texts,
            part,
            self.name,
            context=context,
            folder=self.parts.folder / label,
            progress=partial(tqdm, desc=self.name),
        )
