"""The same as `salience fit`."""
import sys

from csv_plugin.cli.salience import main

if __name__ == '__main__':
    raise SystemExit(main(['fit', *sys.argv[1:]]))
