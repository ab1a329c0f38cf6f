"""The commands, each a module with `main(argv)`; tools/ are doors to them."""
