"""Door to `csv_plugin.cli.train_demo_zoo`."""
from csv_plugin.cli.train_demo_zoo import main

if __name__ == '__main__':
    raise SystemExit(main())
