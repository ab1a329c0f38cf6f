"""Door to `csv_plugin.cli.fit_from_tables`."""
from csv_plugin.cli.fit_from_tables import main

if __name__ == '__main__':
    raise SystemExit(main())
