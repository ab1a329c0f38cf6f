"""Door to `csv_plugin.cli.compare_methods`."""
from csv_plugin.cli.compare_methods import main

if __name__ == '__main__':
    raise SystemExit(main())
