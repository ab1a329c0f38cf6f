"""Pictures of studies, with matplotlib and without its global state."""
from csv_plugin.report.pictures.capability import (CapabilityPoints,
                                                   capability_picture,
                                                   capability_points)
from csv_plugin.report.pictures.coverage import (Coverage, coverage_by_level,
                                                 coverage_picture)
from csv_plugin.report.pictures.methods import methods_picture
from csv_plugin.report.pictures.outliers import outliers_picture
from csv_plugin.report.pictures.style import save
from csv_plugin.report.pictures.texts import TextsStudyRow, texts_picture
from csv_plugin.report.pictures.training import (TrainingCurve,
                                                 convergence_picture,
                                                 training_curve_picture)
from csv_plugin.report.pictures.trajectories import (Forecast, Trajectory,
                                                     trajectory_picture)

__all__ = [
    'CapabilityPoints', 'Coverage', 'Forecast', 'TextsStudyRow',
    'TrainingCurve', 'Trajectory', 'capability_picture', 'capability_points',
    'convergence_picture', 'coverage_by_level', 'coverage_picture',
    'methods_picture', 'outliers_picture', 'save', 'texts_picture',
    'training_curve_picture', 'trajectory_picture'
]
