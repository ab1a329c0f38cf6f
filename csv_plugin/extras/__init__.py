"""Optional features, whose code is loaded only when a user asks for it."""
