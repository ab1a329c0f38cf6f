"""One thread: the models are tiny, and CPU time is what counts."""
import torch

torch.set_num_threads(1)
