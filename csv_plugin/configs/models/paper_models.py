"""The open models of the paper's Table 2, by their names there.

`base_models` and `chat_models` are the 57 models that have accuracies in
Tables 3 and 4. Two models of Table 2, internlm2.5-1.8B-chat-sft and
internlm2.5-7B-chat-sft, have none, and OpenCompass has no entry for their
weights. The paper does not say how models were loaded. These entries load
them

* in bfloat16, with up to 14 billion parameters on one GPU, up to 34 on two
  and more on four GPUs, of 80 GB each;
* without the code that comes with a model, which OpenCompass runs by default.
  InternLM2 and 2.5 need theirs: `with_own_code` lets it run;
* with eager attention for Gemma 2, whose soft cap the default attention
  leaves out.
"""
from opencompass.models import (HuggingFaceBaseModel,
                                HuggingFacewithChatTemplate)

# By number of GPUs.
_base = {
    1: [
        'meta-llama/Llama-2-7b-hf', 'meta-llama/Llama-2-13b-hf',
        'meta-llama/Meta-Llama-3-8B', 'Qwen/Qwen1.5-1.8B', 'Qwen/Qwen1.5-4B',
        'Qwen/Qwen1.5-7B', 'Qwen/Qwen1.5-14B', 'Qwen/Qwen2-1.5B',
        'Qwen/Qwen2-7B', '01-ai/Yi-6B', '01-ai/Yi-1.5-6B', '01-ai/Yi-1.5-9B',
        'google/gemma-2-2b', 'google/gemma-2-9b', 'internlm/internlm2-1_8b',
        'internlm/internlm2-7b', 'internlm/internlm2_5-1_8b',
        'internlm/internlm2_5-7b'
    ],
    2: [
        'Qwen/Qwen1.5-32B', '01-ai/Yi-34B', '01-ai/Yi-1.5-34B',
        'google/gemma-2-27b', 'internlm/internlm2-20b',
        'internlm/internlm2_5-20b'
    ],
    4: [
        'meta-llama/Llama-2-70b-hf', 'meta-llama/Meta-Llama-3-70B',
        'Qwen/Qwen1.5-72B', 'Qwen/Qwen2-72B'
    ],
}
_chat = {
    1: [
        'meta-llama/Llama-2-7b-chat-hf', 'meta-llama/Llama-2-13b-chat-hf',
        'meta-llama/Meta-Llama-3-8B-Instruct', 'Qwen/Qwen1.5-1.8B-Chat',
        'Qwen/Qwen1.5-4B-Chat', 'Qwen/Qwen1.5-7B-Chat',
        'Qwen/Qwen1.5-14B-Chat', 'Qwen/Qwen2-1.5B-Instruct',
        'Qwen/Qwen2-7B-Instruct', '01-ai/Yi-6B-Chat', '01-ai/Yi-1.5-6B-Chat',
        '01-ai/Yi-1.5-9B-Chat', 'internlm/internlm2-chat-1_8b',
        'internlm/internlm2-chat-7b', 'internlm/internlm2-chat-1_8b-sft',
        'internlm/internlm2-chat-7b-sft', 'internlm/internlm2_5-1_8b-chat',
        'internlm/internlm2_5-7b-chat'
    ],
    2: [
        'Qwen/Qwen1.5-32B-Chat', '01-ai/Yi-34B-Chat', '01-ai/Yi-1.5-34B-Chat',
        'google/gemma-2-27b-it', 'internlm/internlm2-chat-20b',
        'internlm/internlm2-chat-20b-sft', 'internlm/internlm2_5-20b-chat'
    ],
    4: [
        'meta-llama/Llama-2-70b-chat-hf',
        'meta-llama/Meta-Llama-3-70B-Instruct', 'Qwen/Qwen1.5-72B-Chat',
        'Qwen/Qwen2-72B-Instruct'
    ],
}
# Longest context in tokens, by the beginning of the name.
_context = {
    'meta-llama/Llama-2': 4096,
    'meta-llama/Meta-Llama-3': 8192,
    'Qwen/': 32768,
    '01-ai/': 4096,
    'google/': 8192,
    'internlm/': 32768,
}
# Words that end a turn of a chat, by the beginning of the name.
_stop_words = {
    'meta-llama/Meta-Llama-3': ['<|end_of_text|>', '<|eot_id|>'],
    'Qwen/Qwen1.5': ['<|im_end|>', '<|im_start|>'],
    '01-ai/Yi-6B': ['<|endoftext|>', '<|im_end|>'],
    '01-ai/Yi-34B': ['<|endoftext|>', '<|im_end|>'],
    'google/': ['<end_of_turn>'],
}


def base_model(path: str, num_gpus: int = 1) -> dict:
    """Entry of a base model of these series on the hub."""
    return dict(type=HuggingFaceBaseModel, **model_of(path, num_gpus))


def chat_model(path: str, num_gpus: int = 1) -> dict:
    """Entry of a chat model of these series on the hub."""
    return dict(
        type=HuggingFacewithChatTemplate,
        stop_words=value_of(_stop_words, path) or [],
        **model_of(path, num_gpus))


def model_of(path: str, num_gpus: int) -> dict:
    """The part that the entries of base and chat models share."""
    eager = path.startswith('google/gemma-2')
    return dict(
        # The paper writes this name in another case than the hub.
        abbr=path.split('/')[1].replace('Llama-2-70b-hf', 'llama-2-70b-hf'),
        path=path,
        model_kwargs=dict(
            device_map='auto',
            torch_dtype='torch.bfloat16',
            trust_remote_code=False,
            **(dict(attn_implementation='eager') if eager else {})),
        tokenizer_kwargs=dict(trust_remote_code=False),
        # Without a value, OpenCompass runs the model's code to look it up.
        max_seq_len=value_of(_context, path),
        max_out_len=1024,
        batch_size=8,
        run_cfg=dict(num_gpus=num_gpus))


def with_own_code(models: list[dict], allowed: bool) -> list[dict]:
    """The same entries; code runs that comes with a model which needs it.

    Args:
        models (list[dict]): Entries of `base_model` or `chat_model`.
        allowed (bool): Whether the user lets the code run.

    Raises:
        InputError: It may not run, but there is a model that needs it.
    """
    # Imports at the top of a config are lazy: they give names, not modules.
    oc = __import__('csv_plugin.oc.model_entries', fromlist=['oc'])
    return [
        oc.with_own_code(model, allowed)
        if model['path'].startswith('internlm/') else model for model in models
    ]


def value_of(table: dict, path: str) -> object:
    """The value for the beginning that the path has, or None."""
    return next(
        (value
         for beginning, value in table.items() if path.startswith(beginning)),
        None)


base_models = [
    base_model(path, num_gpus) for num_gpus, paths in _base.items()
    for path in paths
]
chat_models = [
    chat_model(path, num_gpus) for num_gpus, paths in _chat.items()
    for path in paths
]
