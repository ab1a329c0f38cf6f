"""The same as `salience texts`."""
import sys

from csv_plugin.cli.salience import main

if __name__ == '__main__':
    raise SystemExit(main(['texts', *sys.argv[1:]]))
