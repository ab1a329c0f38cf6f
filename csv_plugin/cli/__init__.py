"""The command `salience` and its verbs.

Each verb is a module with `add_arguments(parser)` and `run(args)`. The module
`salience` has the function `main(argv)` that runs the command.
"""
