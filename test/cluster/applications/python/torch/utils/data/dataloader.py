import multiprocessing

from ._utils.worker import _worker_loop


class DataLoader:
    """Loads the items of a dataset in a process of its own, which it starts as PyTorch does."""

    def __init__(self, dataset, multiprocessing_context):
        context = multiprocessing.get_context(multiprocessing_context)
        self.indexes, self.batches = context.SimpleQueue(), context.SimpleQueue()
        words = (dataset, self.indexes, self.batches)
        self.worker = context.Process(target=_worker_loop, args=words, daemon=True)
        self.worker.start()
        self.next = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.indexes.put(self.next)
        self.next += 1
        return self._get_data()

    def _get_data(self):
        return self.batches.get()
