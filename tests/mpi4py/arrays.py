"""Arrays in memory of Tutti's device for mpi4py's tests (its arrayimpl.py): they show __cuda_array_interface__, and the
tests read and write their elements through tutti_copy()."""
import ctypes

import numpy

CORE = ctypes.CDLL("libtutti-core.so.0")
ALLOC, FREE, COPY = (getattr(CORE, "tutti_" + name) for name in ("alloc", "free", "copy"))
ALLOC.argtypes = [ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p)]
FREE.argtypes = [ctypes.c_void_p]
COPY.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]


def fine(status):
    if status != 0:
        raise MemoryError(f"Tutti's status is {status}")


class Flat:
    """numpy's `flat` of a DeviceArray: what is assigned reaches the array."""

    def __init__(self, array):
        self.array = array

    def __len__(self):
        return self.array.size

    def __iter__(self):
        return iter(self.array.load().flat)

    def __getitem__(self, i):
        return self.array.load().flat[i]

    def __setitem__(self, i, value):
        values = self.array.load()
        values.flat[i] = value
        self.array.store(values)


class DeviceArray:
    """The part of numpy's array that the tests use; every access copies."""

    def __init__(self, like):
        self.shape, self.dtype, self.size = like.shape, like.dtype, like.size
        self.itemsize, self.nbytes = like.itemsize, like.nbytes
        self.at = ctypes.c_void_p()
        fine(ALLOC(max(self.nbytes, 1), ctypes.byref(self.at)))
        self.store(like)

    def __del__(self):
        FREE(self.at)

    def load(self):
        out = numpy.empty(self.shape, self.dtype)
        if self.nbytes:
            fine(COPY(out.ctypes.data, self.at, self.nbytes))
        return out

    def store(self, values):
        values = numpy.ascontiguousarray(values, self.dtype)
        if self.nbytes:
            fine(COPY(self.at, values.ctypes.data, self.nbytes))

    @property
    def flat(self):
        return Flat(self)

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, i):
        return self.load()[i]

    def __setitem__(self, i, value):
        values = self.load()
        values[i] = value
        self.store(values)

    def __iter__(self):
        return iter(self.load())

    @property
    def __cuda_array_interface__(self):
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": self.dtype.str if self.dtype.char != "?" else "|b1",
            "data": (self.at.value, False),
            "strides": None,
        }


def install():
    import arrayimpl

    class ArrayOfDevice(arrayimpl.ArrayNumPy):
        backend = "tutti"

        def __init__(self, arg, typecode, shape=None, readonly=False):
            super().__init__(arg, typecode, shape)
            self.array = DeviceArray(self.array)

        @property
        def address(self):
            return self.array.at.value

        @property
        def typecode(self):
            return self.array.dtype.char

    pretend = ("FakeGPUArrayBasic", "FakeGPUArrayNumPy")
    arrayimpl.ArrayBackends[:] = [b for b in arrayimpl.ArrayBackends if b.__name__ not in pretend] + [ArrayOfDevice]
