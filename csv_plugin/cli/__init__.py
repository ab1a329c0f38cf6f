"""The command `salience` and its verbs, and what else tools/ can do.

A verb is a module with `add_arguments(parser)` and `run(args)`; tools/ are
doors to the `main(argv)` of modules.
"""
