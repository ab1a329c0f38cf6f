"""Makes the files of the demonstration that ship with the package."""
