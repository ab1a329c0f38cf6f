"""Door to `csv_plugin.cli.train_scoring_head`."""
from csv_plugin.cli.train_scoring_head import main

if __name__ == '__main__':
    raise SystemExit(main())
