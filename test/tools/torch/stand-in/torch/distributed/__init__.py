"""Two ranks that wait for each other."""

from torch.distributed.distributed_c10d import (
    all_reduce,
    destroy_process_group,
    get_rank,
    init_process_group,
)

from torch.distributed import device_mesh
