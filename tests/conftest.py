"""Examples of hypothesis have no deadline: a busy machine is no failure."""
from hypothesis import settings

settings.register_profile('csv_plugin', deadline=None)
settings.load_profile('csv_plugin')
