"""mpi4py's test arrays of CuPy, filled as its arrays of NumPy are: under NumPy 2 a negative number is refused for an
unsigned type unless it is converted by astype(), on the ranks alone that fill with one. Ranks take the GPUs in turn."""
import arrayimpl
import cupy
import numpy
from mpi4py import MPI


def fill(self, arg, typecode, shape=None, readonly=False):
    del readonly
    values = numpy.asarray(arg).astype(typecode)
    if shape is None:
        shape = values.shape
    self.array = cupy.zeros(shape, typecode)
    self.array[...] = cupy.asarray(values)


def install():
    cupy.cuda.Device(MPI.COMM_WORLD.Get_rank() % cupy.cuda.runtime.getDeviceCount()).use()
    arrayimpl.GPUArrayCuPy.__init__ = fill
