"""Allreduce of PyTorch tensors with mpi4py: nothing here knows of Tutti.

tutti run -n 4 python3 examples/python/allreduce_torch.py

mpi4py takes a tensor by DLPack, or by the CUDA array interface; both are tried. The program waits for its own kernels
before it gives their results to MPI. The last part averages gradients, as data-parallel training does."""

import sys

import torch
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
torch.cuda.set_device(rank % torch.cuda.device_count())
wrong = 0


class ByArrayInterface:
    """The tensor's memory under the CUDA array interface alone."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.__cuda_array_interface__ = tensor.__cuda_array_interface__


class ByDLPack:
    """The tensor's memory under DLPack alone."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, stream=None):
        return self.tensor.__dlpack__()

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def contribution(r, n, dtype):
    return ((torch.arange(n, device="cuda") * 3 + r) % 11).to(dtype)


def check(got, want, what):
    global wrong
    if not torch.equal(got, want):
        wrong += 1
        print(f"rank {rank}: wrong: {what}", file=sys.stderr)


for dtype in (torch.float32, torch.float64, torch.int32, torch.int64):
    for n in (1, 1000, 65537, 3_000_001):
        parts = [contribution(r, n, dtype) for r in range(size)]
        total = sum(parts[1:], parts[0].clone())
        for way in (ByArrayInterface, ByDLPack, lambda tensor: tensor):
            name = getattr(way, "__name__", "")
            mine, out = parts[rank].clone(), torch.empty_like(parts[rank])
            torch.cuda.synchronize()
            comm.Allreduce(way(mine), way(out), op=MPI.SUM)
            check(out, total, f"sum of {n} {dtype} {name}")
            comm.Allreduce(MPI.IN_PLACE, way(mine), op=MPI.SUM)
            check(mine, total, f"sum in place of {n} {dtype} {name}")

# Every rank computes the gradient of its share of the data; their mean is the gradient of all of it.
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1)).double().cuda()
inputs = torch.randn(16 * size, 32, dtype=torch.float64).cuda()
model(inputs).square().mean().backward()
whole = [p.grad.clone() for p in model.parameters()]
model.zero_grad()
model(inputs[rank * 16 : (rank + 1) * 16]).square().mean().backward()
torch.cuda.synchronize()
for p, want in zip(model.parameters(), whole):
    comm.Allreduce(MPI.IN_PLACE, ByArrayInterface(p.grad), op=MPI.SUM)
    if not torch.allclose(p.grad / size, want, rtol=1e-10, atol=1e-12):
        wrong += 1
        print(f"rank {rank}: wrong: gradient of shape {tuple(want.shape)}", file=sys.stderr)

wrong = comm.allreduce(wrong)
if rank == 0:
    print(f"PyTorch tensors on {size} ranks: {wrong} wrong results")
sys.exit(wrong != 0)
