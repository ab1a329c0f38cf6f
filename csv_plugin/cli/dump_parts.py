"""Parts of a dump until it is whole: files of one call, in one folder."""
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from csv_plugin.core.conventions import InputError
from csv_plugin.core.model_losses import DumpInfo, TokenLossDump
from csv_plugin.io.dumps import read_dump
from csv_plugin.io.files import write_text
from csv_plugin.io.json_files import read_json
from csv_plugin.io.shards import merge_dumps

#: Label of what no part was asked of. Its chunks are recalled one by one, to
#: make the same numbers to the last bit as without an interruption.
REST = 'rest'


class DumpParts:
    """The folder of the parts, which several machines may share.

    Args:
        folder (Path): It is made when the first part is about to be scored.
        call (Mapping[str, Any]): What tells the losses of one call from
            those of another, as values of JSON: the model, a mark of its
            weights, its tokenizer and the options of the engine. The file
            `call.json` keeps it, as dumps record less.
    """

    def __init__(self, folder: Path, call: Mapping[str, Any]) -> None:
        self.folder, self.call = folder, dict(call)
        self._file = folder / 'call.json'

    def check_call(self) -> None:
        """Refuse to go on with what another call has begun.

        Raises:
            InputError: The call that the folder keeps is another one.
        """
        if not self._file.exists():
            return
        remedy = f'Remove {self.folder}, or call as before.'
        kept = read_json(self._file, remedy)
        if not isinstance(kept, dict):
            raise InputError(
                str(self._file), 'a call',
                repr(kept)[:80], remedy)
        for name, value in self.call.items():
            if kept.get(name) != value:
                raise InputError(
                    str(self._file), f'parts with {name} = {value!r}',
                    f'parts with {name} = {kept.get(name)!r}', remedy)

    def begin(self, info: DumpInfo) -> None:
        """Keep the call, and check that what comes fits what is there.

        Args:
            info (DumpInfo): How texts are about to be scored.

        Raises:
            InputError: Another call has begun meanwhile, or a part was
                scored in another way.
        """
        self.check_call()
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(self._file, json.dumps(self.call, indent=1))
        for file, part in self._files():
            try:
                merge_dumps([part, TokenLossDump(info, ())])
            except InputError as error:
                stale = file if file.parent == self.folder else file.parent
                raise InputError(
                    str(file), 'a part as this call would score it',
                    f'another one ({error})',
                    f'Remove {stale}, or call as before.') from error

    def read(self) -> list[TokenLossDump]:
        """What is there, each text once: whole parts count before chunks."""
        parts = []
        seen: set[str] = set()
        for _, part in self._files():
            texts = [text for text in part.texts if text.text_id not in seen]
            seen.update(text.text_id for text in texts)
            parts.append(TokenLossDump(part.info, tuple(texts)))
        return parts

    def remove(self) -> None:
        """Remove the folder, though another machine may still write to it."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _files(self) -> Iterator[tuple[Path, TokenLossDump]]:
        """Parts and chunks of parts, but those of the rest, by their files."""
        # Names of temporary files begin with a dot.
        files = [
            path for path in self.folder.rglob('[!.]*.parquet')
            if path.parent.name != REST
        ]
        for file in sorted(files, key=lambda path: (len(path.parts), path)):
            try:
                yield file, read_dump(file)
            except InputError:  # moved, or damaged by a crash of the machine
                continue
