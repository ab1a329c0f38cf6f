"""Worse versions of a language model: five kinds, four strengths each.

All change the linear layers of the decoder alone, never the embeddings or the
head, and depend on nothing but the model and a fixed seed.
"""
import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

#: Fixed for all models; each layer draws its own numbers.
SEED = 0


class Degradation(NamedTuple):
    """A kind of degradation and its strength, such as `bits`, 3."""
    kind: str
    strength: float

    @property
    def name(self) -> str:
        """The end of a model's name, such as 'bits-3'."""
        return f'{self.kind}-{self.strength:g}'


#: Bits of each weight; share of weights, of layers and of attention heads
#: that are set to zero or left out; noise in standard deviations.
STRENGTHS = {
    'bits': (5, 4, 3.5, 3),
    'pruned': (0.2, 0.3, 0.4, 0.5),
    'layers': (0.05, 0.1, 0.2, 0.3),
    'heads': (0.1, 0.2, 0.35, 0.5),
    'noise': (0.05, 0.1, 0.15, 0.2),
}
DEGRADATIONS = tuple(
    Degradation(kind, strength) for kind, strengths in STRENGTHS.items()
    for strength in strengths)


@torch.no_grad()
def degrade(model: nn.Module, degradation: Degradation) -> None:
    """Degrade a causal LM of transformers in place."""
    kind, strength = degradation
    if kind == 'layers':
        _leave_out_layers(model, strength)
    elif kind == 'heads':
        _silence_heads(model, strength)
    else:
        change = {'bits': _round, 'pruned': _prune, 'noise': _add_noise}[kind]
        for weight, generator in _weights(model):
            weight.copy_(change(weight, strength, generator))


def _weights(model: nn.Module) -> Iterator[tuple[Tensor, torch.Generator]]:
    """Matrices of the decoder, each with a generator of its own."""
    for number, module in enumerate(model.model.layers.modules()):
        if isinstance(module, nn.Linear):
            yield module.weight, _generator(number)


def _generator(number: int) -> torch.Generator:
    """On the CPU, so that all devices draw the same numbers."""
    return torch.Generator().manual_seed(SEED + number)


def _round(weight: Tensor, bits: float, _: torch.Generator) -> Tensor:
    """Round each row to about 2 ** bits levels, symmetric about zero."""
    top = int(2**(bits - 1)) - 1
    step = weight.abs().amax(dim=1, keepdim=True).clamp_min(1e-12) / top
    return (weight / step).round() * step


def _prune(weight: Tensor, share: float, _: torch.Generator) -> Tensor:
    """Set the smallest weights of a matrix to zero."""
    n_zero = math.floor(share * weight.numel())
    limit = weight.abs().flatten().kthvalue(n_zero).values
    return weight.where(weight.abs() > limit, 0)


def _add_noise(weight: Tensor, scale: float,
               generator: torch.Generator) -> Tensor:
    """Add normal noise, in standard deviations of the matrix."""
    noise = torch.randn(weight.shape, generator=generator)
    return weight + scale * weight.std() * noise.to(weight)


def _leave_out_layers(model: nn.Module, share: float) -> None:
    """Leave out layers evenly spread over the middle, never the ends."""
    n_layers = len(model.model.layers)
    n_out = max(1, round(share * n_layers))
    places = torch.linspace(1, n_layers - 2, n_out + 2)[1:-1].round().int()
    kept = sorted(set(range(n_layers)) - set(places.tolist()))
    model.model.layers = nn.ModuleList(model.model.layers[i] for i in kept)
    model.config.num_hidden_layers = len(kept)


def _silence_heads(model: nn.Module, share: float) -> None:
    """Set what some attention heads add to the residual stream to zero."""
    heads = [
        output[:, start:start + attention.head_dim]
        for attention in (layer.self_attn for layer in model.model.layers)
        for output in [attention.o_proj.weight]
        for start in range(0, output.shape[1], attention.head_dim)
    ]
    order = torch.randperm(len(heads), generator=_generator(0))
    for i in order[:round(share * len(heads))].tolist():
        heads[i].zero_()
