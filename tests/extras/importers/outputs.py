"""What other programs wrote, and copies of it with something changed.

`data` holds real output, shortened to five texts and four items: of
lm-evaluation-harness 0.4.13 and lighteval 0.13.0, run with their own commands
on models of the demonstration; answers of the server of vLLM 0.32.0 that ran
one of them (`prompt_logprobs=1, return_token_ids=True`, the prompt being the
text, before which its tokenizer puts a BOS); and answers in its classes.
"""
import json
from collections.abc import Mapping
from pathlib import Path

from csv_plugin.core.texts import TextSet
from csv_plugin.extras.importers.lm_eval import write_lm_eval_task

DATA = Path(__file__).parent / 'data'
LM_EVAL, LIGHTEVAL = DATA / 'lm_eval', DATA / 'lighteval'
ANSWERS = DATA / 'completions' / 'c-l-80.jsonl'
SERVED = DATA / 'completions' / 'd-s-100.jsonl'
TEXTS = LM_EVAL / 'texts.jsonl'
MODELS = 'c-l-80', 'd-s-100'


def read_rows(path):
    """The JSON objects of a file with one a line."""
    return [json.loads(line) for line in path.read_text('utf-8').splitlines()]


def write_rows(path, rows):
    lines = [json.dumps(row, ensure_ascii=False) + '\n' for row in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(''.join(lines), 'utf-8')
    return path


def change_json(path, change):
    """Rewrite a JSON file by a function that changes its content."""
    content = json.loads(path.read_text('utf-8'))
    change(content)
    path.write_text(json.dumps(content), 'utf-8')


def write_lm_eval_output(folder: Path, texts: TextSet, nats: Mapping[str,
                                                                     float],
                         accuracies: Mapping[str, float]) -> None:
    """Write the output folder of lm-evaluation-harness for one model.

    The losses are in nats by text, the accuracies by benchmark.
    """
    real = next(LM_EVAL.glob('c-l-80/results_*07-58*'))
    results = json.loads(real.read_text('utf-8'))
    task = write_lm_eval_task(folder / 'tasks', texts)
    config, = results['configs'].values()
    config['metadata']['fingerprint'] = texts.fingerprint
    results['configs'] = {task: config}
    results['model_name'] = folder.name
    probe, *_ = read_rows(next(LM_EVAL.glob('c-l-80/samples_*')))
    rows = [probe]
    for doc_id, text in enumerate(texts, start=1):
        loss = -nats[text.text_id]
        rows.append({
            **probe, 'doc_id': doc_id,
            'doc': {
                'text_id': text.text_id,
                'text': text.text
            },
            'resps': [[str(loss)]],
            'filtered_resps': [str(loss)],
            'bits_per_byte': [loss, len(text.text.encode())]
        })
    total, n_bytes = (
        sum(row['bits_per_byte'][place] for row in rows) for place in (0, 1))
    mean = -total / n_bytes / 0.6931471805599453
    results['results'] = {
        task: {
            'bits_per_byte,none': mean,
            'sample_len': len(rows)
        },
        **{
            name: {
                'acc,none': accuracy,
                'acc_stderr,none': 0.01,
                'sample_len': 240
            }
            for name, accuracy in accuracies.items()
        }
    }
    date = '2026-01-01T12-00-00.000000'
    write_rows(folder / f'samples_{task}_{date}.jsonl', rows)
    (folder / f'results_{date}.json').write_text(json.dumps(results), 'utf-8')
