"""Score the checkpoints that a training saves, as they appear."""
import glob
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Optional

from csv_plugin.core.conventions import InputError
from csv_plugin.core.escaping import one_line
from csv_plugin.extras.live.live_predictions import LivePredictions
from csv_plugin.io.json_files import read_json
from csv_plugin.io.model_paths import checkpoint_folders
from csv_plugin.lm.loading import load_causal_lm, load_tokenizer
from csv_plugin.triage.checkpoints import describe_checkpoints
from csv_plugin.triage.result import Triage

#: The last file of a checkpoint that `transformers.Trainer` writes.
LAST_FILE = 'trainer_state.json'

#: Name, modification time (ns) and size (bytes) of each file of a folder.
Stamp = list[tuple[str, int, int]]


class CheckpointJob:
    """Score the checkpoints of a training that have no losses yet.

    A checkpoint has losses if they are in the folder of `live`. So a job that
    was killed can be started again and continues.

    Args:
        pattern (str): Pattern of the checkpoint folders, whose names contain
            the step; see `checkpoint_folders`.
        live (LivePredictions): Writes the losses and predicts from them.
        complain (Callable): Called with the reason why a checkpoint cannot
            be read: once, and again only after its files have changed.
        tokenizer (Optional[str]): Name or path of the tokenizer; by default
            each checkpoint's own tokenizer is loaded.
        trust_remote_code (bool): Whether code in the checkpoints may run.
    """

    def __init__(self,
                 pattern: str,
                 live: LivePredictions,
                 complain: Callable[[str], None],
                 tokenizer: Optional[str] = None,
                 trust_remote_code: bool = False) -> None:
        self.pattern = pattern
        self.live = live
        self.complain = complain
        self.tokenizer = tokenizer
        self.trusted = trust_remote_code
        # A stamp has the names, times and sizes of the files in a folder.
        # `_seen` has the stamps at the last call of `update`, and `_refused`
        # the stamps with which reading failed: such a folder is tried again
        # once its stamp has changed.
        self._seen: dict[Path, Stamp] = {}
        self._refused: dict[Path, Stamp] = {}
        self._judged = False
        self._scored = False

    @property
    def failed(self) -> bool:
        """Whether checkpoints were found, but none of them could be read."""
        return bool(self._refused) and not self._scored

    @property
    def waits(self) -> bool:
        """Whether the folder of the run exists without any checkpoint yet."""
        folder = os.path.dirname(self.pattern)
        return bool(glob.glob(folder)) and not glob.glob(self.pattern)

    def update(self, saved: bool = False) -> Optional[Triage]:
        """Score the new checkpoints that are written completely.

        A checkpoint is complete if it has `LAST_FILE`, or if its files have
        not changed since the previous call. With `saved`, the training is
        over and every checkpoint is taken as complete.

        Returns the triage of all checkpoints so far, or None if nothing is
        new since the last call. Raises an `InputError` if there is no
        checkpoint, unless further calls may find one.
        """
        found: Mapping[str, Path] = {}
        if saved or not self.waits:
            found = checkpoint_folders(self.pattern)
        folders = {}
        for name, checkpoint in describe_checkpoints(found).items():
            folders[int(checkpoint.step)] = found[name]
        known = set(self.live.steps())
        new = folders.keys() - known
        triage = None
        for step in sorted(new):
            folder = folders[step]
            is_read = False
            # The trainer may remove the checkpoint before or while it is
            # read.
            with suppress(FileNotFoundError):
                if self._is_due(folder, saved):
                    is_read = self._read(folder, step)
            if is_read:
                triage = self._judge()
        if triage is None and known and not self._judged:
            triage = self._judge()
        return triage

    def _judge(self) -> Triage:
        """Predict from all readings; `update` retries if this fails."""
        self._judged = False
        last = max(self.live.steps())
        triage = self.live.judge(last)
        self._judged = True
        return triage

    def _is_due(self, folder: Path, saved: bool) -> bool:
        """Return whether a checkpoint is complete and should be read now."""
        stamp = []
        for entry in os.scandir(folder):
            status = entry.stat()
            stamp.append((entry.name, status.st_mtime_ns, status.st_size))
        stamp.sort()
        is_whole = saved or (folder / LAST_FILE).exists()
        settled = is_whole or self._seen.get(folder) == stamp
        self._seen[folder] = stamp
        return settled and self._refused.get(folder) != stamp

    def _read(self, folder: Path, step: int) -> bool:
        """Score a checkpoint and write its losses.

        Returns False, and calls `complain`, if it cannot be read.
        """
        try:
            tokenizer = load_tokenizer(self.tokenizer or folder, self.trusted)
            model: Any = load_causal_lm(folder, self.trusted)
            state = folder / LAST_FILE
            tokens = 0
            if state.exists():
                record = read_json(state, 'Save the checkpoint anew.')
                tokens = (record or {}).get('num_input_tokens_seen', 0)
            self.live.write_losses(model, tokenizer, step, tokens)
        except InputError as error:
            self._refused[folder] = self._seen[folder]
            self.complain(one_line(f'{folder.name} is left out: {error}'))
            return False
        self._scored = True
        return True
