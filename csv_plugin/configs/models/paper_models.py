"""Model entries of the paper's open models, with the names in the paper.

`base_models` and `chat_models` are the 57 models of Table 2 that have
accuracies in Tables 3 and 4. `unsplit_models` are the two models that have
accuracies but are in no split of Table 2. Two models of Table 2,
internlm2.5-1.8B-chat-sft and internlm2.5-7B-chat-sft, have no accuracies and
no entries. The entries load models

* in bfloat16: models of up to 14 billion parameters on one GPU, of up to 34
  billion on two GPUs, and larger models on four GPUs, of 80 GB each;
* without the Python code that comes with a model, except for InternLM2 and
  2.5, which need it (`with_own_code`);
* with eager attention for Gemma 2, because the default attention leaves out
  its soft cap.
"""
from opencompass.models import (HuggingFaceBaseModel,
                                HuggingFacewithChatTemplate)

# Longest context in tokens, by the beginning of the model's path.
_context = {
    'meta-llama/Llama-2': 4096,
    'meta-llama/Meta-Llama-3': 8192,
    'Qwen/': 32768,
    '01-ai/': 4096,
    'google/': 8192,
    'internlm/': 32768,
}
# Words that end a turn of a chat, by the beginning of the model's path.
_stop_words = {
    'meta-llama/Meta-Llama-3': ['<|end_of_text|>', '<|eot_id|>'],
    'Qwen/Qwen1.5': ['<|im_end|>', '<|im_start|>'],
    '01-ai/Yi-6B': ['<|endoftext|>', '<|im_end|>'],
    '01-ai/Yi-34B': ['<|endoftext|>', '<|im_end|>'],
    'google/': ['<end_of_turn>'],
}


def base_model(path: str, num_gpus: int = 1) -> dict:
    """Return the entry of a base model on the hub, of a series of the paper.
    """
    return dict(type=HuggingFaceBaseModel, **model_of(path, num_gpus))


def chat_model(path: str, num_gpus: int = 1) -> dict:
    """Return the entry of a chat model on the hub, of a series of the paper.
    """
    return dict(
        type=HuggingFacewithChatTemplate,
        stop_words=value_of(_stop_words, path) or [],
        **model_of(path, num_gpus))


def model_of(path: str, num_gpus: int) -> dict:
    """Return the keys that entries of base and of chat models share."""
    model_kwargs = dict(
        device_map='auto',
        torch_dtype='torch.bfloat16',
        trust_remote_code=False)
    if path.startswith('google/gemma-2'):
        model_kwargs['attn_implementation'] = 'eager'
    _, name = path.split('/')
    if name == 'Llama-2-70b-hf':
        # The paper writes this name with a small letter, unlike the hub.
        name = 'llama-2-70b-hf'
    return dict(
        abbr=name,
        path=path,
        model_kwargs=model_kwargs,
        tokenizer_kwargs=dict(trust_remote_code=False),
        # Without `max_seq_len`, OpenCompass runs the code that comes with the
        # model to look it up.
        max_seq_len=value_of(_context, path),
        max_out_len=1024,
        batch_size=8,
        run_cfg=dict(num_gpus=num_gpus))


def with_own_code(models: list[dict], allowed: bool) -> list[dict]:
    """Return entries that let models run their own code if they need it.

    Raises:
        InputError: A model needs its own code, but `allowed` is False.
    """
    # In a config, mmengine replaces imports at the top by lazy objects, which
    # cannot be called here.
    oc = __import__('csv_plugin.oc.models', fromlist=['oc'])
    entries = []
    for model in models:
        if model['path'].startswith('internlm/'):
            model = oc.with_own_code(model, allowed)
        entries.append(model)
    return entries


def value_of(table: dict, path: str) -> object:
    """Return the value of the first key with which a path begins, or None."""
    for start, value in table.items():
        if path.startswith(start):
            return value
    return None


def paper_entries() -> tuple[list[dict], list[dict], list[dict]]:
    """Return entries of base models, chat models, and models in no split.

    The models that are in no split of Table 2 are chat models.
    """
    # In a config, mmengine replaces imports at the top by lazy objects, which
    # cannot be called here.
    io = __import__('csv_plugin.io.paper', fromlist=['io'])
    in_table_2 = io.paper_models()
    chat_words = ['chat', 'Chat', 'Instruct', '-it']
    base: list[dict] = []
    chat: list[dict] = []
    unsplit: list[dict] = []
    for name, listed in io.paper_weights().items():
        is_chat = any(word in name for word in chat_words)
        if not is_chat:
            base.append(base_model(listed.path, listed.gpus))
        elif name in in_table_2:
            chat.append(chat_model(listed.path, listed.gpus))
        else:
            unsplit.append(chat_model(listed.path, listed.gpus))
    return base, chat, unsplit


base_models, chat_models, unsplit_models = paper_entries()
