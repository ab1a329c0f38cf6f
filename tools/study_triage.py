"""Door to `csv_plugin.cli.study_triage`."""
from csv_plugin.cli.study_triage import main

if __name__ == '__main__':
    raise SystemExit(main())
