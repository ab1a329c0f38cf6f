"""Draw pictures with matplotlib, without changing its global state."""
from csv_plugin.extras.pictures.accuracy_by_score import (CapabilityPoints,
                                                          capability_picture,
                                                          capability_points)
from csv_plugin.extras.pictures.curves import trajectory_picture
from csv_plugin.extras.pictures.predicted_by_observed import methods_picture
from csv_plugin.extras.pictures.step_by_step import steps_picture
from csv_plugin.extras.pictures.style import save

__all__ = [
    'CapabilityPoints', 'capability_picture', 'capability_points',
    'methods_picture', 'save', 'steps_picture', 'trajectory_picture'
]
