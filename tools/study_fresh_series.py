"""Door to `csv_plugin.cli.study_fresh_series`."""
from csv_plugin.cli.study_fresh_series import main

if __name__ == '__main__':
    raise SystemExit(main())
