"""Code that the main job never imports: loaded when a user asks for it."""
