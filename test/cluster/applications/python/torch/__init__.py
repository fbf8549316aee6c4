"""A stand-in for PyTorch: its functions wait in the files of PyTorch, but compute nothing."""
