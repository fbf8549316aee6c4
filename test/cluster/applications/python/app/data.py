"""The data of the training jobs. Batch 100 of the rank in HANGS never comes."""
import os


class Batches:
    def __getitem__(self, index):
        return load_batch(index)


def load_batch(index):
    if index == 100 and os.environ["RANK"] == os.environ["HANGS"]:
        os.read(os.pipe()[0], 1)  # never comes
    return index
