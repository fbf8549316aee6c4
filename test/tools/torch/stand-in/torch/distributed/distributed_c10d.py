"""Ranks that exchange bytes over pipes, whose folder is MASTER_FOLDER, if there are several."""

import os

from torch._C import _distributed_c10d as library


class Group:
    group_desc = "default_pg"
    made = 0

    def __init__(self, rank, size):
        self.number = Group.made
        Group.made += 1
        self._rank = rank
        self._size = size

    def rank(self):
        return self._rank

    def size(self):
        return self._size


class _World:
    default_pg = None
    pg_names = {}
    pg_group_ranks = {}
    pipes = []


_world = _World()


def _update_default_pg(pg):
    _world.default_pg = pg


def init_process_group(backend):
    rank, size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    ranks = list(range(size))
    folder = os.environ.get("MASTER_FOLDER")
    if size > 1:
        _world.pipes = [os.open(os.path.join(folder, str(each)), os.O_RDWR) for each in ranks]
    group = Group(rank, size)
    _world.pg_names = {group: "0"}
    _world.pg_group_ranks = {group: {each: each for each in ranks}}
    _update_default_pg(group)


def get_rank():
    return _world.default_pg.rank()


def all_reduce(tensor):
    library.record(_world.default_pg.number, "0", "all_reduce")
    own = _world.default_pg.rank()
    for rank, pipe in enumerate(_world.pipes):
        if rank != own:
            os.write(pipe, b"1")
    for _ in _world.pipes[1:]:
        os.read(_world.pipes[own], 1)


def destroy_process_group():
    _update_default_pg(None)
    _world.pg_names = {}
    _world.pg_group_ranks = {}
