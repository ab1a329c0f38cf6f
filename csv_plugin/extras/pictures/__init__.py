"""Pictures of studies, with matplotlib and without its global state."""
from csv_plugin.extras.pictures.accuracy_by_score import (capability_picture,
                                                          convergence_picture)
from csv_plugin.extras.pictures.accuracy_by_tokens import trajectory_picture
from csv_plugin.extras.pictures.curves import (coverage_picture, order_picture,
                                               training_curve_picture)
from csv_plugin.extras.pictures.predicted_by_real import methods_picture
from csv_plugin.extras.pictures.style import save

__all__ = [
    'capability_picture', 'convergence_picture', 'coverage_picture',
    'methods_picture', 'order_picture', 'save', 'training_curve_picture',
    'trajectory_picture'
]
