"""Door to `csv_plugin.cli.write_lm_eval_task`."""
from csv_plugin.cli.write_lm_eval_task import main

if __name__ == '__main__':
    raise SystemExit(main())
