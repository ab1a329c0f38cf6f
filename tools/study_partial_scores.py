"""Door to `csv_plugin.cli.study_partial_scores`."""
from csv_plugin.cli.study_partial_scores import main

if __name__ == '__main__':
    raise SystemExit(main())
