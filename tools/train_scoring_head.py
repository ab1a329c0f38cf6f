"""The same as `salience train`."""
import sys

from csv_plugin.cli.salience import main

if __name__ == '__main__':
    raise SystemExit(main(['train', *sys.argv[1:]]))
