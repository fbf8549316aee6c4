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
library = MPI.Get_library_version().split(",")[0][:20]
lines = world.gather(f"{rank} {sums[0]} {parts} {turned} {library}")
# One rank prints for all: the launcher may print the lines of two ranks in either order.
if rank == 0:
    print("\n".join(lines))
world.Barrier()
