"""Door to `csv_plugin.cli.render_report`."""
from csv_plugin.cli.render_report import main

if __name__ == '__main__':
    raise SystemExit(main())
