"""Pictures of studies, with matplotlib and without its global state."""
from csv_plugin.report.pictures.accuracy_by_score import capability_picture
from csv_plugin.report.pictures.accuracy_by_tokens import (Forecast,
                                                           Trajectory,
                                                           trajectory_picture)
from csv_plugin.report.pictures.errors_by_step import (convergence_picture,
                                                       training_curve_picture)
from csv_plugin.report.pictures.far_from_prediction import outliers_picture
from csv_plugin.report.pictures.interval_coverage import coverage_picture
from csv_plugin.report.pictures.order_by_share import order_picture
from csv_plugin.report.pictures.panels import take_legend
from csv_plugin.report.pictures.predicted_by_real import methods_picture
from csv_plugin.report.pictures.style import save

__all__ = [
    'Forecast', 'Trajectory', 'capability_picture', 'convergence_picture',
    'coverage_picture', 'methods_picture', 'order_picture', 'outliers_picture',
    'save', 'take_legend', 'training_curve_picture', 'trajectory_picture'
]
