"""Stands in for the parts of PyTorch that the recorder of torch-collectives meets."""

from torch import _C, distributed


def zeros(_size):
    return [0.0]
