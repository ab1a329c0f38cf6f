"""Door to `csv_plugin.cli.build_validation_set`."""
from csv_plugin.cli.build_validation_set import main

if __name__ == '__main__':
    raise SystemExit(main())
