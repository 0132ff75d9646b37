"""Messages and reductions of PyTorch tensors by mpi4py, of all sizes: nothing here knows of Tutti.

    torch_messages.py KIND MOST     KIND: torch, or simulated (memory of the MPI instead of tensors). MOST: MiB

Each rank sees all GPUs and uses cuda:(rank modulo GPUs); the current device stays 0. mpi4py is given addresses, as Heat does.
Every value is checked. Beside each call the same is done by hand: a copy to pinned memory, the call, a copy back."""

import sys

import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
memory = getattr(MPI, "buffer", None) or MPI.memory  # its name in mpi4py 4, in mpi4py 3
left, right = (rank - 1) % size, (rank + 1) % size


class Torch:
    def __init__(self):
        import torch

        self.torch = torch
        self.device = torch.device("cuda", rank % torch.cuda.device_count())

    def make(self, n, start):
        values = self.torch.arange(n, device=self.device, dtype=self.torch.int32)
        return values.add_(start).remainder_(1013).to(self.torch.float32)

    def pinned(self, n):
        return self.torch.empty(n, dtype=self.torch.float32, pin_memory=True)

    def copy(self, to, values):
        to.copy_(values)

    def wait(self):
        self.torch.cuda.synchronize(self.device)

    def equal(self, a, b):
        return self.torch.equal(a, b)

    def address(self, values):
        return values.data_ptr()


class Simulated:
    """Memory of MPI_Alloc_mem, which is the simulated GPU's."""

    def make(self, n, start):
        taken = MPI.Alloc_mem(max(4 * n, 1))
        values = numpy.frombuffer(taken, numpy.float32, n)
        values[:] = (numpy.arange(n) + start) % 1013
        return values

    def pinned(self, n):
        return numpy.empty(n, numpy.float32)

    def copy(self, to, values):
        to[:] = values

    def wait(self):
        pass

    def equal(self, a, b):
        return numpy.array_equal(a, b)

    def address(self, values):
        return values.ctypes.data


arrays = Torch() if sys.argv[1] == "torch" else Simulated()
most = int(sys.argv[2]) << 20
wrong = 0


def buffer(values):
    n = len(values)
    return [memory.fromaddress(arrays.address(values), 4 * n), n, MPI.FLOAT]


def check(right_one, what):
    global wrong
    if not right_one:
        wrong += 1
        print(f"rank {rank}: wrong: {what}", file=sys.stderr)


def timed(call):
    """The slowest rank's time of the fastest of three calls, in us."""
    best = None
    for _ in range(3):
        arrays.wait()
        comm.Barrier()
        start = MPI.Wtime()
        call()
        arrays.wait()
        took = comm.allreduce(MPI.Wtime() - start, op=MPI.MAX) * 1e6
        best = took if best is None else min(best, took)
    return best


def send(out, into):
    comm.Sendrecv(buffer(out), right, 0, buffer(into), left, 0)


def isend(out, into):
    MPI.Request.Waitall([comm.Irecv(buffer(into), left, 1), comm.Isend(buffer(out), right, 1)])


def by_hand(call, out, into, host_out, host_into):
    arrays.copy(host_out, out)
    arrays.wait()
    call(host_out, host_into)
    arrays.copy(into, host_into)


def reduce(out, into):
    comm.Allreduce(buffer(out), buffer(into), op=MPI.SUM)


def messages(n, offset):
    """All calls on tensors that are new in each round, and on parts of them that begin `offset` elements from their start."""
    for again in range(3):
        out = arrays.make(n + offset, rank + again)[offset:]
        want = arrays.make(n + offset, left + again)[offset:]
        for call in (send, isend):
            into = arrays.make(n + offset, 500)[offset:]
            arrays.wait()
            call(out, into)
            check(arrays.equal(into, want), f"{call.__name__} of {4 * n} bytes, offset {4 * offset}, round {again}")
        # Up to 16 ranks, whole numbers below 2^24: exact.
        into = arrays.make(n + offset, 0)[offset:]
        total = arrays.make(n + offset, again)[offset:]
        for r in range(1, size):
            total += arrays.make(n + offset, r + again)[offset:]
        arrays.wait()
        reduce(out, into)
        check(arrays.equal(into, total), f"allreduce of {4 * n} bytes, offset {4 * offset}, round {again}")


def figures(n):
    out, into = arrays.make(n, rank), arrays.make(n, 0)
    host = arrays.pinned(n), arrays.pinned(n)
    words = []
    for name, call in (("send", send), ("allreduce", reduce)):
        ours, theirs = timed(lambda: call(out, into)), timed(lambda: by_hand(call, out, into, *host))
        words.append(f"{name} of {4 * n} B {ours:.1f} us (by hand {theirs:.1f}, ratio {theirs / ours:.2f})")
    return words


sizes = [s for s in (8, 512, 4096, 65536, 1 << 20, 16 << 20, 64 << 20, 128 << 20, 200 << 20, 256 << 20, 512 << 20, 1 << 30) if s <= most]
for nbytes in sizes:
    messages(nbytes // 4, 0)
    if nbytes <= 256 << 20:
        messages(nbytes // 4, 1)
table = [word for nbytes in sizes if nbytes in (4096, 1 << 20, 16 << 20, 256 << 20, 1 << 30) for word in figures(nbytes // 4)]
wrong = comm.allreduce(wrong)
if rank == 0 and not wrong:
    print(f"messages: {len(sizes)} sizes up to {sizes[-1]} B right on {size} ranks, " + ", ".join(table))
sys.exit(wrong != 0)
