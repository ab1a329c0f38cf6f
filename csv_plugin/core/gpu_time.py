"""How long GPUs take to score a language model on texts, as an estimate.

The speeds are assumptions, and the peaks of the GPUs are those that NVIDIA
states; one H100 was measured, which scored at .36 to .46 of the peak and took
weights from memory at 6 GB per second (docs/performance.md). A model on
several GPUs is no faster, because its layers run one after the other, and
takes all of these GPUs as long.
"""
from typing import NamedTuple

#: Bytes of a parameter in bfloat16 or float16.
_BYTES = 2
#: Share of the memory of the GPUs that weights fill at most; the rest is for
#: logits and states.
_SHARE = .5
#: GB per second, from a disk that tasks share and from memory to a GPU.
_FROM_DISK, _TO_GPU = 1., 4.
#: Share of the peak that the scoring of texts attains.
_UTILISATION = .4
#: Seconds until a process is up, for a token to be made, and to write a dump.
_START, _TOKEN, _WRITE = 20., .26 / 17833, 1.


class Gpu(NamedTuple):
    """A kind of GPU.

    Args:
        name (str): As NVIDIA calls it.
        memory (float): In GB.
        peak (float): Operations in bfloat16 per second, in units of 1e12.
    """
    name: str
    memory: float
    peak: float


GPUS = (Gpu('H100', 80., 989.), Gpu('A100', 80., 312.))


class ScoringTime(NamedTuple):
    """Seconds that a process spends on one model.

    Args:
        start (float): Until the process is up.
        tokens (float): Making tokens of the texts.
        read (float): Reading the weights from the disk.
        copy (float): Copying them to the GPUs.
        score (float): Running the model on the texts.
        write (float): Writing the losses.
    """
    start: float
    tokens: float
    read: float
    copy: float
    score: float
    write: float


def weights_gb(params_b: float) -> float:
    """GB of the weights of a model with so many billion parameters."""
    return _BYTES * params_b


def gpus_needed(params_b: float, gpu: Gpu = GPUS[0]) -> int:
    """Number of GPUs, a power of two, of which weights fill less than half.

    Args:
        params_b (float): Billions of parameters.
        gpu (Gpu): Their kind.

    >>> [gpus_needed(params_b) for params_b in (14, 20, 34, 72)]
    [1, 2, 2, 4]
    """
    count = 1
    while weights_gb(params_b) >= _SHARE * gpu.memory * count:
        count *= 2
    return count


def scoring_time(params_b: float, n_tokens: int, gpu: Gpu) -> ScoringTime:
    """Seconds for one model, in a process of its own.

    Each token takes two operations a parameter.

    Args:
        params_b (float): Billions of parameters.
        n_tokens (int): Of all texts.
        gpu (Gpu): Kind of the GPUs.

    >>> [round(seconds, 1) for seconds in scoring_time(7, 180000, GPUS[0])]
    [20.0, 2.6, 14.0, 3.5, 6.4, 1.0]
    """
    weights = weights_gb(params_b)
    return ScoringTime(
        _START, _TOKEN * n_tokens, weights / _FROM_DISK, weights / _TO_GPU,
        2 * params_b * n_tokens / (_UTILISATION * gpu.peak * 1000), _WRITE)


def gpu_hours(params_b: float, n_tokens: int, gpu: Gpu) -> float:
    """Hours of all GPUs that a model needs, added up."""
    seconds = sum(scoring_time(params_b, n_tokens, gpu))
    return gpus_needed(params_b, gpu) * seconds / 3600
