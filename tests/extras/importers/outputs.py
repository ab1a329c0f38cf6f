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
from csv_plugin.extras.importers.left_out import LeftOut
from csv_plugin.extras.importers.lm_eval import write_lm_eval_task

DATA = Path(__file__).parent / 'data'
LM_EVAL, LIGHTEVAL = DATA / 'lm_eval', DATA / 'lighteval'
TEXTS = LM_EVAL / 'texts.jsonl'
MODELS = 'c-l-80', 'd-s-100'


def read_rows(path):
    return [json.loads(line) for line in path.read_text('utf-8').splitlines()]


def write_rows(path, rows):
    lines = [json.dumps(row, ensure_ascii=False) + '\n' for row in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(''.join(lines), 'utf-8')
    return path


def read_items_by(reader, path, *tasks):
    """Losses on all items, and lines about what is left out."""
    left_out = LeftOut()
    items = reader(path, tasks, left_out)
    losses = [loss for task in items.values() for loss in task]
    return losses, left_out.lines


def change_json(path, change):
    content = json.loads(path.read_text('utf-8'))
    change(content)
    path.write_text(json.dumps(content), 'utf-8')


def write_lm_eval_output(folder: Path, texts: TextSet, nats: Mapping[str,
                                                                     float],
                         accuracies: Mapping[str, float]) -> None:
    """Write the output folder of lm-evaluation-harness for one model.

    The losses are in nats by text, the accuracies by benchmark.
    """
    task = write_lm_eval_task(folder / 'tasks', texts)
    results = write_results(
        folder,
        '0.4.13', {
            task: 0.5,
            **accuracies
        },
        model=f'lab/{folder.name}',
        items=240)
    rows = [('salience_texts probe', '', 0.0),
            *((text.text_id, text.text, nats[text.text_id])
              for text in texts)]  # yapf: disable
    write_rows(
        folder / f'samples_{task}_{results.stem.partition("_")[2]}.jsonl',
        [{
            'doc': dict(text_id=name, text=text),
            'bits_per_byte': [-loss, len(text.encode())]
        } for name, text, loss in rows])


def version_key(version):
    return tuple(map(int, version.split('.')))


def results_of(version,
               scores,
               model='lab/m',
               shots=0,
               items=100,
               groups=(),
               limit=None,
               **more):
    """The results of a version of the harness, as its source writes them.

    Args:
        version (str): Such as '0.4.2'.
        scores (dict): The accuracy of each task or group.
        model (str): Weights, and perhaps further arguments of the model.
        shots (int): Few-shot examples of each task.
        items (int): Items of each task.
        groups (dict): The tasks of each group.
        limit (float): The option of that name.
        more: Fields that are changed at the end.
    """
    key, groups = version_key(version), dict(groups)
    tasks = [task for task in scores if task not in groups]
    config = dict(model='hf', model_args=f'pretrained={model}', limit=limit)
    n = min(items, int(limit)) if limit and limit >= 1 else items
    results = {
        name: {
            'acc,none': mean,
            'acc_stderr,none': abs(mean * (1 - mean) / max(n - 1, 1))**.5
        }
        for name, mean in scores.items()
    }
    content = dict(
        results=results, versions=dict.fromkeys(tasks, 1.0), config=config)
    below = {task for group in groups.values() for task in group}
    for name, part in results.items():
        part['alias'] = ' - ' * (name in below) + name
    config_of_task = dict(num_fewshot=shots, output_type='multiple_choice')
    content['configs'] = dict.fromkeys(tasks, config_of_task)
    content['n-shot'] = dict.fromkeys(tasks, shots)
    if key < (0, 4, 4):
        content['n-shot'] |= dict.fromkeys(groups, 0)
    if key >= (0, 4, 2):
        content |= dict(group_subtasks=groups, date=1.0)
    if key >= (0, 4, 3):
        effective = min(items, int(limit or items))
        content['n-samples'] = dict.fromkeys(
            tasks, dict(original=items, effective=effective))
        config['model_dtype'] = 'torch.bfloat16'
        config['model_revision'] = model.partition('revision=')[2] or 'main'
        content |= dict(
            higher_is_better=dict.fromkeys(tasks, dict(acc=True)),
            model_name=model.partition(',')[0],
            chat_template=None,
            chat_template_sha=None,
            system_instruction=None)
    if key >= (0, 4, 10):
        for name, part in results.items():
            part['sample_len'] = effective * len(groups.get(name, [name]))
    return content | more


def write_results(folder, version, scores, date='2025-01-01', **options):
    """Write `results_of` a version below a folder, under the name it has."""
    names = {True: 'anything.json', False: f'results_{date}T00-00-00.0.json'}
    path = folder / names[version_key(version) < (0, 4, 3)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results_of(version, scores, **options)))
    return path


def write_samples(results, task, items, version='0.4.13'):
    """Log samples of a task beside a file of results, as a version does.

    Args:
        results (Path): The file of `write_results`.
        task (str): One of them.
        items (list): Of each item, its prompts, answers, log-likelihoods
            and target, and perhaps fields that are added or changed.
        version (str): Before 0.4.4, targets are no texts.
    """
    old, rows = version_key(version) < (0, 4, 4), []
    for doc_id, (prompts, answers, values, right, more) in enumerate(items):
        pairs = [[str(value), 'False'] for value in values]
        arguments = {
            f'gen_args_{place}': dict(arg_0=prompt, arg_1=answer)
            for place, (prompt, answer) in enumerate(zip(prompts, answers))
        }
        rows.append(
            dict(
                doc_id=doc_id,
                doc=dict(question=prompts[0]),
                target=right if old else str(right),
                arguments=arguments,
                resps=[[pair] for pair in pairs],
                filtered_resps=pairs) | more)
    date = results.stem.partition('_')[2]
    return write_rows(results.with_name(f'samples_{task}_{date}.jsonl'), rows)
