"""Pictures of studies, with matplotlib and without its global state."""
from csv_plugin.report.pictures.accuracy_by_score import (CapabilityPoints,
                                                          capability_picture,
                                                          capability_points)
from csv_plugin.report.pictures.accuracy_by_tokens import (Forecast,
                                                           Trajectory,
                                                           trajectory_picture)
from csv_plugin.report.pictures.errors_by_step import (TrainingCurve,
                                                       convergence_picture,
                                                       training_curve_picture)
from csv_plugin.report.pictures.errors_by_texts import (TextsStudyRow,
                                                        texts_picture)
from csv_plugin.report.pictures.far_from_prediction import outliers_picture
from csv_plugin.report.pictures.interval_coverage import (Coverage,
                                                          coverage_by_level,
                                                          coverage_picture)
from csv_plugin.report.pictures.predicted_by_real import methods_picture
from csv_plugin.report.pictures.style import save

__all__ = [
    'CapabilityPoints', 'Coverage', 'Forecast', 'TextsStudyRow',
    'TrainingCurve', 'Trajectory', 'capability_picture', 'capability_points',
    'convergence_picture', 'coverage_by_level', 'coverage_picture',
    'methods_picture', 'outliers_picture', 'save', 'texts_picture',
    'training_curve_picture', 'trajectory_picture'
]
