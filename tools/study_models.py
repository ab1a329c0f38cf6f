"""Door to `csv_plugin.cli.study_models`."""
from csv_plugin.cli.study_models import main

if __name__ == '__main__':
    raise SystemExit(main())
