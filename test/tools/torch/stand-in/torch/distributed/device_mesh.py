"""PyTorch imports modules after distributed_c10d, too."""
