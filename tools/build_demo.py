"""Door to `csv_plugin.cli.build_demo`."""
from csv_plugin.cli.build_demo import main

if __name__ == '__main__':
    raise SystemExit(main())
