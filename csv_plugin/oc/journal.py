"""Keeps the losses that a run has computed, in case it is interrupted."""
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from csv_plugin.core.conventions import InputError
from csv_plugin.core.model_losses import DumpInfo, TokenLossDump
from csv_plugin.core.texts import Text
from csv_plugin.io.dumps import read_dump, write_dump


@dataclass(frozen=True)
class Journal:
    """A folder with one small dump for every chunk of texts.

    Dumps appear whole or not at all, so a killed run leaves no damaged dump.

    Args:
        folder (Path): Is made when the first chunk is kept.
        info (DumpInfo): What the present run records about its scoring. The
            dumps of a run that scored in another way are not recalled.
        entropy (bool): Whether entropies are recorded.
        rank (bool): Whether ranks are recorded.
    """
    folder: Path
    info: DumpInfo
    entropy: bool
    rank: bool

    def recall(self, chunk: int,
               texts: Sequence[Text]) -> Optional[TokenLossDump]:
        """Read the dump of a chunk.

        Args:
            chunk (int): Number of the chunk.
            texts (Sequence[Text]): The texts of the chunk.

        Returns:
            Optional[TokenLossDump]: The losses of these texts in their order,
            or None if the journal has no such dump.
        """
        try:
            dump = read_dump(self._file(chunk))
        except InputError:  # absent, or damaged by a crash of the machine
            return None
        recorded = [(text.text_id, text.sha256, text.entropy
                     is not None, text.rank is not None)
                    for text in dump.texts]
        wanted = [(text.text_id, text.sha256, self.entropy, self.rank)
                  for text in texts]
        return dump if (dump.info, recorded) == (self.info, wanted) else None

    def keep(self, chunk: int, dump: TokenLossDump) -> None:
        """Put the dump of a chunk on disk."""
        self.folder.mkdir(exist_ok=True)
        write_dump(self._file(chunk), dump)

    def remove(self) -> None:
        """Delete all chunks, once their losses are in the final dump."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _file(self, chunk: int) -> Path:
        return self.folder / f'{chunk}.parquet'
