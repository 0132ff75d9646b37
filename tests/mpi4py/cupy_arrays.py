"""mpi4py's test arrays of CuPy, filled as its arrays of NumPy are: under NumPy 2 a negative number is refused for an
unsigned type unless it is converted by astype(), on the ranks alone that fill with one."""
import arrayimpl
import cupy
import numpy


def fill(self, arg, typecode, shape=None, readonly=False):
    del readonly
    values = numpy.asarray(arg).astype(typecode)
    if shape is None:
        shape = values.shape
    self.array = cupy.zeros(shape, typecode)
    self.array[...] = cupy.asarray(values)


def install():
    arrayimpl.GPUArrayCuPy.__init__ = fill
