"""The command `salience` and its subcommands, which are called verbs.

Each verb is a module with `add_arguments(parser)` and `run(args)`. The module
`salience` has the function `main(argv)` that runs the command.
"""
