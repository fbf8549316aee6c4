# Calls MPI with mpi4py in several ways, and prints results that do not depend on time.
import array

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
ones, sums = array.array("d", [1.0] * 100), array.array("d", [0.0] * 100)
for _ in range(20):
    world.Allreduce(ones, sums)
parts = world.allgather(rank)
turned = world.sendrecv(rank, dest=(rank + 1) % size, source=(rank + size - 1) % size)
for turn in range(size):
    if turn == rank:
        print(rank, sums[0], parts, turned, MPI.Get_library_version().split(",")[0][:20], flush=True)
    world.Barrier()
