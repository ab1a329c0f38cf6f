"""Muon: an optimiser that steps along the orthogonalised momentum of matrices.

Keller Jordan et al., "Muon: An optimizer for hidden layers in neural
networks" (2024), https://kellerjordan.github.io/posts/muon.
"""
from collections.abc import Iterable

import torch
from torch import Tensor, nn

# Coefficients of the odd polynomial whose iteration takes singular values to
# about 1.
_COEFFICIENTS = (3.4445, -4.7750, 2.0315)
_ITERATIONS = 5


def orthogonalised(matrices: Tensor) -> Tensor:
    """Matrices with their singular values replaced by 0.7 to 1.2.

    The replacement is a Newton-Schulz iteration.

    Args:
        matrices (Tensor): Matrices, none of them zero. Shape `(n, r, c)`.

    Returns:
        Tensor: Matrices with the same singular vectors. Shape `(n, r, c)`.
    """
    is_tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.mT if is_tall else matrices
    # The spectral norm is at most the Frobenius norm, which is now 1.
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    a, b, c = _COEFFICIENTS
    for _ in range(_ITERATIONS):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.mT if is_tall else x


class Muon(torch.optim.Optimizer):
    """Muon with Nesterov momentum; matrices of equal shape are stacked.

    Args:
        matrices (Iterable[nn.Parameter]): Matrices; each needs a gradient at
            every step.
        lr (float): Learning rate; the step of a square matrix has singular
            values of about this size.
        momentum (float): Share of the momentum that is kept at a step.
    """

    def __init__(self,
                 matrices: Iterable[nn.Parameter],
                 lr: float,
                 momentum: float = .95) -> None:
        by_shape: dict[torch.Size, list[nn.Parameter]] = {}
        for matrix in matrices:
            by_shape.setdefault(matrix.shape, []).append(matrix)
        groups = [{'params': group} for group in by_shape.values()]
        super().__init__(groups, {'lr': lr, 'momentum': momentum})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Change every matrix by one step."""
        for group in self.param_groups:
            first, momentum = group['params'][0], group['momentum']
            gradients = torch.stack([p.grad for p in group['params']])
            state = self.state[first]
            if not state:
                state['momentum'] = torch.zeros_like(gradients)
            mean = state['momentum'].lerp_(gradients, 1 - momentum)
            steps = orthogonalised(gradients.lerp(mean, momentum))
            rows, columns = first.shape
            size = group['lr'] * max(1, rows / columns)**.5
            for matrix, step in zip(group['params'], steps):
                matrix.sub_(step, alpha=size)
