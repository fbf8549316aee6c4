from .fetch import _MapDatasetFetcher


def _worker_loop(dataset, indexes, batches):
    fetcher = _MapDatasetFetcher(dataset)
    while True:
        batches.put(fetcher.fetch(indexes.get()))
