"""Door to `csv_plugin.cli.import_losses`."""
from csv_plugin.cli.import_losses import main

if __name__ == '__main__':
    raise SystemExit(main())
