"""Trains a model of the zoo with live predictions, beside its real exams.

    OMP_NUM_THREADS=1 python -m tools.studies.live_training OUT

The model is the second smallest of series d, whose models no shipped
predictor was fitted on, with its recipe, but trained by
`transformers.Trainer`. The predictor is the one of the demonstration, the
earlier runs are those of its size in the other series. Real accuracies are
those that OpenCompass's classes give the saved checkpoints. OUT gets the
losses, the tables, `live_training.csv` and `live_training.png`; see
docs/live.md.
"""
import sys
import time
from pathlib import Path

import numpy as np
import torch
from tabulate import tabulate
from torch.optim.lr_scheduler import LambdaLR
from transformers import AutoTokenizer, Trainer, TrainingArguments

from csv_plugin.core.texts import Text
from csv_plugin.demo import shipped
from csv_plugin.extras.live.trackers import tensorboard_log
from csv_plugin.extras.live.trainer_callback import PredictionCallback
from csv_plugin.extras.pictures import save, trajectory_picture
from csv_plugin.io.model_paths import checkpoint_folders
from csv_plugin.io.tables import write_csv
from csv_plugin.lm.engines.token_losses import token_losses
from tools.demo_maker import corpus
from tools.demo_maker.recipes import TrainingRecipe, recipe_of
from tools.demo_maker.files import tokenizer_folder
from tools.demo_maker.training import new_model

MODEL = 'd-s'
#: Readings in the training, and for how many of them one exam.
READINGS, EXAMS = 14, 2


class BothOptimisers(torch.optim.Optimizer):
    """Muon for matrices and AdamW for the rest, as one for the trainer."""

    def __init__(self, *parts):
        self.parts = parts
        super().__init__(
            [group for part in parts for group in part.param_groups], {})

    def step(self, closure=None):
        groups = [group for part in self.parts for group in part.param_groups]
        # `accelerate` replaces those of this object by copies.
        for group, scheduled in zip(groups, self.param_groups):
            group['lr'] = scheduled['lr']
        for part in self.parts:
            part.step()


def optimisers(llama, recipe, n_steps):
    """Those of the zoo, and their schedule."""
    matrices = [p for p in llama.model.layers.parameters() if p.ndim == 2]
    taken = set(matrices)
    both = BothOptimisers(
        torch.optim.Muon(matrices, lr=recipe.matrix_lr, weight_decay=0),
        torch.optim.AdamW([p for p in llama.parameters() if p not in taken],
                          lr=recipe.other_lr,
                          betas=(.9, .95),
                          weight_decay=0))

    def rate(step):
        return min(1, (step + 1) / recipe.warm_up_steps) * max(
            0, 1 - step / n_steps)

    return both, LambdaLR(both, rate)


def collate(batches):
    [rows] = batches
    ids = torch.from_numpy(rows)
    return {
        'input_ids': ids.clamp(min=0),
        'attention_mask': torch.ones_like(ids),
        'labels': ids
    }


def beginner(model):
    """A model of the zoo before its training, its tokenizer and batches."""
    recipe, (series, size) = TrainingRecipe(), recipe_of(model)
    tokenizer = AutoTokenizer.from_pretrained(
        tokenizer_folder(shipped.ZOO, series.name))
    rows = corpus.training_rows(series, tokenizer, recipe.tokens,
                                recipe.seed_of(series.name, 'texts'))
    batches = corpus.batches(rows, recipe.batch_tokens,
                             np.random.default_rng(recipe.seed_of(model)))
    return new_model(size, tokenizer,
                     recipe.seed_of(model)), tokenizer, batches


def trainer_of(llama,
               tokenizer,
               batches,
               folder,
               steps,
               save_steps,
               callbacks=()):
    """What trains a model of the zoo and saves checkpoints in a folder."""
    return Trainer(
        llama,
        TrainingArguments(
            str(folder),
            max_steps=steps,
            per_device_train_batch_size=1,
            max_grad_norm=0,
            save_steps=save_steps,
            save_only_model=True,
            logging_steps=save_steps,
            dataloader_pin_memory=False,
            disable_tqdm=True,
            use_cpu=True,
            report_to=[]),
        train_dataset=batches,
        data_collator=collate,
        processing_class=tokenizer,
        optimizers=optimisers(llama, TrainingRecipe(), steps),
        callbacks=list(callbacks))


def train(out):
    """The callback after a training that saved some checkpoints."""
    llama, tokenizer, batches = beginner(MODEL)
    every = len(batches) // READINGS
    callback = PredictionCallback(
        shipped.PREDICTOR,
        shipped.TEXTS,
        out / 'live',
        every,
        run=MODEL,
        history=[shipped.COLLECTION / '[abc]-s@*.safetensors'],
        logs=[tensorboard_log(out / 'tensorboard')])
    trainer_of(llama, tokenizer, batches, out / MODEL, every * READINGS,
               EXAMS * every, [callback]).train()
    return callback


def real_accuracies(folder, tokenizer=None):
    """Of a checkpoint on the exams, as the demonstration takes them.

    Its perplexities come from `token_losses`, in the place of OpenCompass's
    one question at a time.
    """
    from opencompass.models import HuggingFaceBaseModel

    from csv_plugin.configs.datasets import tidewell_exams
    from csv_plugin.demo.exams import TidewellExam, tidewell_final_answer
    model = HuggingFaceBaseModel(
        str(folder),
        model_kwargs=dict(torch_dtype='torch.float', trust_remote_code=False),
        tokenizer_path=str(tokenizer or folder),
        tokenizer_kwargs=dict(trust_remote_code=False),
        max_seq_len=512)
    accuracies = {}
    for dataset in tidewell_exams.tidewell_exams_datasets:
        rows = TidewellExam.load(dataset['kind'])
        inferencer = dataset['infer_cfg']['inferencer']
        if 'max_out_len' in inferencer:
            texts = model.generate(
                list(rows['question']), inferencer['max_out_len'])
            answers = [tidewell_final_answer(text) for text in texts]
        else:
            answers = chosen(model, rows)
        right = [a == label for a, label in zip(answers, rows['label'])]
        accuracies[dataset['abbr']] = float(np.mean(right))
    return accuracies


def chosen(model, rows):
    """The options with the least loss per token, BOS included."""
    texts = [
        Text(f'{i} {label}', row['question'] + row[label])
        for i, row in enumerate(rows) for label in 'ABCD'
    ]
    losses = token_losses(model.model, model.tokenizer, texts)
    means = [text.losses.sum() / (len(text.losses) + 1) for text in losses]
    best = np.reshape(means, (-1, 4)).argmin(axis=1)
    return ['ABCD'[i] for i in best]


def main(out):
    out = Path(out)
    torch.set_num_threads(1)
    began = time.process_time()
    callback = train(out)
    print(f'training: {time.process_time() - began:.0f} CPU seconds')
    began = time.process_time()
    real = {
        name: real_accuracies(folder)
        for name, folder in checkpoint_folders(
            f'{out}/{MODEL}/checkpoint-*').items()
    }
    print(f'exams: {time.process_time() - began:.0f} CPU seconds')
    report(out, callback.triage, real)


def report(out, triage, real):
    """The table and the picture of predicted beside real accuracies."""
    [run] = triage.runs
    rows = []
    figure = trajectory_picture(triage)
    for axes, benchmark in zip(figure.axes, triage.benchmarks):
        seen = np.array([
            real.get(name, {}).get(benchmark, np.nan)
            for name in run.checkpoints
        ])
        axes.plot(run.tokens, seen, 'ko')
        for name, step, value in zip(run.checkpoints, run.tokens, seen):
            shown = triage.predictions.at(name, benchmark)
            rows.append(
                (benchmark, int(step), shown.value, shown.low, shown.high,
                 float(value)))
    write_csv(out / 'live_training.csv',
              ('benchmark', 'step', 'predicted', 'low', 'high', 'real'), rows)
    save(figure, out / 'live_training.png')
    known = [row for row in rows if not np.isnan(row[-1])]
    print(
        tabulate([[
            benchmark, *(f'{100 * r[2]:.0f} ({100 * r[3]:.0f}-'
                         f'{100 * r[4]:.0f}) {100 * r[5]:.0f}'
                         for r in known if r[0] == benchmark)
        ] for benchmark in triage.benchmarks], [
            'predicted (interval) real', *dict.fromkeys(f'step {row[1]}'
                                                        for row in known)
        ]))
    errors = [abs(row[2] - row[5]) for row in known]
    held = [row[3] <= row[5] <= row[4] for row in known]
    print(f'\nMean absolute error {100 * np.mean(errors):.1f} points; '
          f'{100 * np.mean(held):.0f} % of {len(held)} real accuracies are '
          'within their 90 % intervals.')


if __name__ == '__main__':
    main(*sys.argv[1:])
