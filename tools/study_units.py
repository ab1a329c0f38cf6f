"""Door to `csv_plugin.cli.study_units`."""
from csv_plugin.cli.study_units import main

if __name__ == '__main__':
    raise SystemExit(main())
