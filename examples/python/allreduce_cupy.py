"""Allreduce of CuPy arrays with mpi4py: nothing here knows of Tutti.

tutti run -n 4 python3 examples/python/allreduce_cupy.py

mpi4py takes the arrays as they are, by their CUDA array interface. The program waits for its own kernels before it gives
their results to MPI, as with any MPI that takes GPU memory. Every result is compared with what NumPy computes."""

import sys
import time

import cupy
import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
cupy.cuda.Device(rank % cupy.cuda.runtime.getDeviceCount()).use()
wrong = 0


def contribution(r, n, dtype):
    """What rank r brings: small integers, so that sums are exact in any type."""
    return ((numpy.arange(n) * 3 + r) % 11).astype(dtype)


def check(got, want, what):
    global wrong
    if not numpy.array_equal(cupy.asnumpy(got), want):
        wrong += 1
        print(f"rank {rank}: wrong: {what}", file=sys.stderr)


for dtype in (numpy.float32, numpy.float64, numpy.int32, numpy.int64, numpy.uint8, numpy.complex128):
    for n in (1, 1000, 65537, 3_000_001):
        parts = [contribution(r, n, dtype) for r in range(size)]
        total = sum(parts[1:], parts[0].copy())
        mine = cupy.asarray(parts[rank])
        out = cupy.empty_like(mine)
        cupy.cuda.get_current_stream().synchronize()
        comm.Allreduce(mine, out, op=MPI.SUM)
        check(out, total, f"sum of {n} {dtype.__name__}")
        check(mine, parts[rank], f"input of {n} {dtype.__name__}")
        comm.Allreduce(MPI.IN_PLACE, mine, op=MPI.SUM)
        check(mine, total, f"sum in place of {n} {dtype.__name__}")
        if dtype is not numpy.complex128:
            mine = cupy.asarray(parts[rank])
            cupy.cuda.get_current_stream().synchronize()
            comm.Allreduce(mine, out, op=MPI.MAX)
            check(out, numpy.maximum.reduce(parts), f"maximum of {n} {dtype.__name__}")

# A view into a larger array, and host memory on every second rank.
n = 4096
parts = [contribution(r, n, numpy.float32) for r in range(size)]
total = sum(parts[1:], parts[0].copy())
large = cupy.zeros(3 * n, dtype=numpy.float32)
large[n + 1 : 2 * n + 1] = cupy.asarray(parts[rank])
cupy.cuda.get_current_stream().synchronize()
comm.Allreduce(MPI.IN_PLACE, large[n + 1 : 2 * n + 1], op=MPI.SUM)
check(large[n + 1 : 2 * n + 1], total, "sum in a view")
check(large[: n + 1], numpy.zeros(n + 1, dtype=numpy.float32), "memory before the view")
mixed = parts[rank].copy() if rank % 2 else cupy.asarray(parts[rank])
cupy.cuda.get_current_stream().synchronize()
comm.Allreduce(MPI.IN_PLACE, mixed, op=MPI.SUM)
check(mixed, total, "sum of host and device memory")

data = cupy.ones(1 << 22, dtype=numpy.float32)
cupy.cuda.get_current_stream().synchronize()
for _ in range(3):
    comm.Allreduce(MPI.IN_PLACE, data, op=MPI.MAX)
comm.Barrier()
start = time.perf_counter()
for _ in range(20):
    comm.Allreduce(MPI.IN_PLACE, data, op=MPI.MAX)
spent = (time.perf_counter() - start) / 20

wrong = comm.allreduce(wrong)
if rank == 0:
    print(f"CuPy arrays on {size} ranks: {wrong} wrong results; 16 MiB in {spent * 1e6:.0f} us")
sys.exit(wrong != 0)
