"""Door to `csv_plugin.cli.triage_checkpoints`."""
from csv_plugin.cli.triage_checkpoints import main

if __name__ == '__main__':
    raise SystemExit(main())
