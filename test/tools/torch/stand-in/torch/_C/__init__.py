"""The place of PyTorch's C++ functions."""

from torch._C import _distributed_c10d
