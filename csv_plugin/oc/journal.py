"""What was scored before a run was killed."""
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text
from csv_plugin.io.dumps import DumpInfo, TokenLossDump, read_dump, write_dump


@dataclass(frozen=True)
class Journal:
    """A folder with one small dump for every chunk of texts.

    Dumps appear whole or not at all, so a killed run leaves no torn one.

    Args:
        folder (Path): Made when the first chunk is kept.
        info (DumpInfo): What scoring now records; what an earlier run
            scored in another way is not recalled.
        entropy (bool): Whether entropies are recorded.
        rank (bool): Whether ranks are.
    """
    folder: Path
    info: DumpInfo
    entropy: bool
    rank: bool

    def recall(self, chunk: int,
               texts: Sequence[Text]) -> Optional[TokenLossDump]:
        """The dump of these texts, in their order; None if there is none."""
        try:
            dump = read_dump(self._file(chunk))
        except InputError:  # not there, or damaged by a crash of the machine
            return None
        found = [(text.text_id, text.sha256, text.entropy
                  is not None, text.rank is not None) for text in dump.texts]
        wanted = [(text.text_id, text.sha256, self.entropy, self.rank)
                  for text in texts]
        return dump if (dump.info, found) == (self.info, wanted) else None

    def keep(self, chunk: int, dump: TokenLossDump) -> None:
        """Put the dump of a chunk on disk."""
        self.folder.mkdir(exist_ok=True)
        write_dump(self._file(chunk), dump)

    def remove(self) -> None:
        """Forget everything, once it is in the final dump."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _file(self, chunk: int) -> Path:
        return self.folder / f'{chunk}.parquet'
