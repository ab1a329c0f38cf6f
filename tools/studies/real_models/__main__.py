"""Command of the study; see the package."""
import argparse
from pathlib import Path

from tools.studies import real_models


def main() -> None:
    """Collect, keep or report."""
    parser = argparse.ArgumentParser(
        prog='python -m tools.studies.real_models',
        description=real_models.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for function in _OPTIONS:
        part = commands.add_parser(
            function.__name__[1:], help=function.__doc__)
        _OPTIONS[function](part)
        part.set_defaults(function=function)
    options = vars(parser.parse_args())
    options.pop('function')(**options)


def _collect(folder: Path, models: list[str], items: int, answers: int,
             workers: int, stages: str, more_texts: list[Path]) -> None:
    """fetch the models, degrade them and run all through OpenCompass"""
    from tools.studies.real_models.collection import Sizes, collect
    collect(folder, models, Sizes(items, answers), workers, stages, more_texts)


def _keep(folder: Path) -> None:
    """write the tables of a run into the repository"""
    from tools.studies.real_models.tables import write_tables
    write_tables(folder)


def _report(run: Path | None, picture: Path | None) -> None:
    """print the tables of the documentation"""
    from tools.studies.real_models import report
    from tools.studies.real_models.analysis import TokenStudy
    from tools.studies.real_models.tables import RealModels
    models = RealModels.read()
    tokens = run and TokenStudy.read(models, run)
    found = report.all_errors(models, tokens)
    print(report.table(found), sep='\n')
    for name, by_method in found.items():
        print(f'\n{name} left out. {report.ratios(by_method)}')
    print(f'\n{report.fewer(models)}')
    if picture:
        report.picture(found, picture)


def _check(folder: Path, model: str, every: int) -> None:
    """compare the accuracies of a model with lm-evaluation-harness"""
    from tools.studies.real_models.check import check
    check(folder, model, every)


def _speed(folder: Path, model: str) -> None:
    """compare ways to compute the losses of options"""
    from tools.studies.real_models.speed import compare_speed
    compare_speed(folder, model)


def _collect_options(parser: argparse.ArgumentParser) -> None:
    from tools.studies.real_models.models import VERSIONS
    parser.add_argument('folder', type=Path)
    parser.add_argument(
        '--models',
        nargs='+',
        choices=VERSIONS,
        default=[*VERSIONS],
        metavar='NAME',
        help='models and worse versions to run; all by default')
    parser.add_argument('--items', type=int, default=400)
    parser.add_argument('--answers', type=int, default=32)
    parser.add_argument(
        '--texts',
        nargs='+',
        type=Path,
        default=[],
        metavar='JSONL',
        dest='more_texts',
        help='more texts to score, such as those that `salience texts` draws')
    parser.add_argument('--workers', type=int, default=2)
    parser.add_argument(
        '--stages', choices=('infer', 'eval', 'all'), default='all')


def _keep_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('folder', type=Path)


def _report_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--run', type=Path, help='a run, for the methods that weight tokens')
    parser.add_argument('--picture', type=Path)


def _check_options(parser: argparse.ArgumentParser) -> None:
    _speed_options(parser)
    parser.add_argument(
        '--every', type=int, default=20, help='each twentieth by default')


def _speed_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('folder', type=Path)
    parser.add_argument('--model', default='smollm2-135m')


_OPTIONS = {
    _collect: _collect_options,
    _keep: _keep_options,
    _report: _report_options,
    _check: _check_options,
    _speed: _speed_options
}

if __name__ == '__main__':
    main()
