"""Door to `csv_plugin.cli.study_texts`."""
from csv_plugin.cli.study_texts import main

if __name__ == '__main__':
    raise SystemExit(main())
