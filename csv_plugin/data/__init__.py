"""Facts and texts that travel with the package."""
