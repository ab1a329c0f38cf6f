"""Checkpoints that a training saves, scored as they appear."""
import os
from collections.abc import Callable
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

#: Name, time of change and size of each file of a folder.
Stamp = list[tuple[str, int, int]]


class CheckpointJob:
    """Reads the checkpoints of a training that have no losses yet.

    Losses are looked for in the folder of `live`, so a job that was killed
    goes on where it was. `pattern` matches folders whose names tell the step;
    see `checkpoint_folders`. `complain` gets why a checkpoint cannot be
    read, once until its files change. By default the checkpoint has the
    tokenizer.
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
        # As they were at the last look, and when they could not be read.
        self._seen: dict[Path, Stamp] = {}
        self._refused: dict[Path, Stamp] = {}
        self._judged = self._scored = False

    @property
    def failed(self) -> bool:
        """Whether there were checkpoints to read, and none could be."""
        return bool(self._refused) and not self._scored

    def update(self, saved: bool = False) -> Optional[Triage]:
        """Read the new checkpoints that are written completely.

        These have the last file of `Trainer`, or their files are as at the
        last look; all are if `saved`. The triage is by all checkpoints so far;
        None if nothing is new since the last call.
        """
        found = checkpoint_folders(self.pattern)
        folders = {}
        for name, checkpoint in describe_checkpoints(found).items():
            folders[int(checkpoint.step)] = found[name]
        known = {*self.live.steps()}
        triage = None
        for step in sorted({*folders} - known):
            is_read = False
            # A trainer may remove it before, or while, it is read.
            with suppress(FileNotFoundError):
                if self._is_due(folders[step], saved):
                    is_read = self._read(folders[step], step)
            if is_read:
                triage = self._judge()
        if triage is None and known and not self._judged:
            triage = self._judge()
        return triage

    def _judge(self) -> Triage:
        """Judge all readings; the next look tries again if it fails."""
        self._judged = False
        triage = self.live.judge(max(self.live.steps()))
        self._judged = True
        return triage

    def _is_due(self, folder: Path, saved: bool) -> bool:
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
        """Keep the losses of a checkpoint, unless it is refused."""
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
