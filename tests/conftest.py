"""Examples of hypothesis have no deadline: a busy machine is no failure."""
from hypothesis import settings

settings.register_profile('csv_plugin', deadline=None)
settings.load_profile('csv_plugin')

# A config of OpenCompass, which is no module, and a module that takes seconds.
collect_ignore = ['bench/smollm2_trial.py', 'faults/bombs.py']
