"""An mpi4py program over device memory: collectives and messages, by the array interface that GPU arrays have."""

import ctypes
import os
import sys

import numpy as np
from mpi4py import MPI

tutti = ctypes.CDLL(os.environ.get("TUTTI_TEST_CORE", "libtutti-core.so.0"))
tutti.tutti_alloc.argtypes = [ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p)]
tutti.tutti_free.argtypes = [ctypes.c_void_p]
tutti.tutti_copy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]


class Array:
    """Device memory of n numbers, as mpi4py sees a CuPy array."""

    def __init__(self, values):
        self.values = np.array(values)
        self.memory = ctypes.c_void_p()
        if tutti.tutti_alloc(self.values.nbytes, ctypes.byref(self.memory)):
            raise MemoryError("tutti_alloc")
        self.set(values)
        self.__cuda_array_interface__ = {
            "shape": self.values.shape,
            "typestr": self.values.dtype.str,
            "data": (self.memory.value, False),
            "version": 2,
        }

    def set(self, values):
        self.values[...] = values
        tutti.tutti_copy(self.memory, self.values.ctypes.data, self.values.nbytes)

    def get(self):
        tutti.tutti_copy(self.values.ctypes.data, self.memory, self.values.nbytes)
        return self.values.copy()

    def free(self):
        tutti.tutti_free(self.memory)


comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
wrong = 0


def check(got, want, what):
    global wrong
    if not np.array_equal(got, want):
        wrong += 1
        print(f"sums: rank {rank}: {what}: {got} instead of {want}", file=sys.stderr)


for dtype in (np.float64, np.float32, np.int32, np.int64, np.uint8, np.complex128):
    for n in (1, 7, 1000, 65537):
        mine = ((np.arange(n) % 7) + rank).astype(dtype)
        want = sum(((np.arange(n) % 7) + r).astype(dtype) for r in range(size)).astype(dtype)
        a, b = Array(mine), Array(np.zeros(n, dtype))
        comm.Allreduce(a, b, MPI.SUM)
        check(b.get(), want, f"Allreduce of {n} {dtype.__name__}")
        check(a.get(), mine, f"contribution of {n} {dtype.__name__}")
        comm.Allreduce(MPI.IN_PLACE, a, MPI.SUM)
        check(a.get(), want, f"Allreduce in place of {n} {dtype.__name__}")
        host = np.zeros(n, dtype)
        a.set(mine)
        comm.Allreduce(a if rank % 2 else mine, host if rank % 2 else b, MPI.SUM)
        check(host if rank % 2 else b.get(), want, f"Allreduce of mixed memory of {n} {dtype.__name__}")
        a.set(mine)
        comm.Bcast(a, root=size - 1)
        check(a.get(), ((np.arange(n) % 7) + size - 1).astype(dtype), f"Bcast of {n} {dtype.__name__}")
        a.set(mine)
        requests = [comm.Irecv(b, (rank - 1) % size), comm.Isend(a, (rank + 1) % size)]
        MPI.Request.Waitall(requests)
        check(b.get(), ((np.arange(n) % 7) + (rank - 1) % size).astype(dtype), f"messages of {n} {dtype.__name__}")
        a.free()
        b.free()

mine, ramp = np.arange(5.0) + rank, np.arange(5.0)
a, b = Array(mine), Array(np.full(5, -7.0))
root = size - 1
comm.Reduce(a, b if rank == root else None, root=root)
check(b.get(), ramp * size + size * (size - 1) / 2 if rank == root else np.full(5, -7.0), "Reduce")
comm.Scan(a, b)
check(b.get(), ramp * (rank + 1) + rank * (rank + 1) / 2, "Scan")
b.set(np.full(5, -7.0))
comm.Exscan(a, b)
check(b.get(), ramp * rank + rank * (rank - 1) / 2 if rank else np.full(5, -7.0), "Exscan")
whole, part = Array(np.arange(3.0 * size) + rank), Array(np.zeros(3))
comm.Reduce_scatter_block(whole, part)
check(part.get(), size * (np.arange(3.0) + 3 * rank) + size * (size - 1) / 2, "Reduce_scatter_block")
counts = [3 * size - 2 * (size - 1)] + [2] * (size - 1)
own, begin = Array(np.zeros(counts[rank])), sum(counts[:rank])
comm.Reduce_scatter(whole, own, counts)
check(own.get(), size * (np.arange(counts[rank]) + begin) + size * (size - 1) / 2, "Reduce_scatter")
b.set(ramp)
MPI.SUM.Reduce_local(a, b)
check(b.get(), mine + ramp, "Reduce_local")

a.set(ramp + rank)
rows = Array(np.zeros(5 * size))
comm.Gather(a, rows if rank == 0 else None)
if rank == 0:
    check(rows.get(), np.concatenate([ramp + r for r in range(size)]), "Gather")

exposed = np.zeros(5)
window = MPI.Win.Create(exposed, comm=comm)
window.Fence()
window.Put(a, (rank + 1) % size)
window.Fence()
check(exposed, ramp + (rank - 1) % size, "Put")
window.Free()
wrong = comm.allreduce(wrong)
if rank == 0:
    print(f"sums: {size} ranks, {wrong} wrong, {MPI.Get_library_version().splitlines()[0][:60]}")
sys.exit(wrong != 0)
