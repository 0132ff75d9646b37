"""Runs mpi4py's own tests and writes what came of each to a file for each rank.

    run.py TESTS RESULT [MODULES...]

TESTS: the folder `test` of mpi4py's source package. RESULT: rank r writes RESULT.r, a line a test: its name and ok,
skipped, failed or error. MODULES: without them all but those that start other programs. With TUTTI_TEST_ARRAYS=device
the tests are given arrays in memory of Tutti's device too, and no others that pretend to be of a GPU; with
TUTTI_TEST_ARRAYS=cupy those that mpi4py's tests make with CuPy, where there is a GPU.
"""
import os
import pathlib
import sys
import unittest

LEFT_OUT = {
    "test_dynproc",  # they start programs
    "test_spawn",
    "test_util_pool",
    "test_doc",  # of the package alone
    "test_package",
}
# Locks of Open MPI's component pt2pt wait for calls of the owner: these tests stand still, without Tutti too.
if os.environ.get("OMPI_MCA_osc") == "pt2pt":
    LEFT_OUT.add("test_util_sync")
# So do those of a condition under MPICH 4.0, where many processes share few cores.
if os.environ.get("MPI4PY_MPIABI") == "mpich":
    LEFT_OUT.add("test_util_sync")


class Result(unittest.TestResult):
    def __init__(self, out):
        super().__init__()
        self.out = out

    def startTest(self, test):
        super().startTest(test)
        self.out.write(test.id())
        self.out.flush()
        self.worst = "ok"

    def stopTest(self, test):
        super().stopTest(test)
        self.out.write(" " + self.worst + "\n")
        self.out.flush()

    def why(self, err):
        kind, value, _ = err
        sys.stderr.write(f"rank {self.rank}: {kind.__name__}: {value}\n")

    def addError(self, test, err):
        super().addError(test, err)
        self.worst = "error"
        self.why(err)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.worst = "failed"
        self.why(err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.worst = "failed"
            self.why(err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.worst = "skipped"


def load(name, out):
    """The tests of a module, which may itself call the MPI, or ask to be skipped."""
    try:
        return unittest.defaultTestLoader.loadTestsFromName(name)
    except unittest.SkipTest:
        out.write(f"{name} skipped\n")
    except Exception as error:  # noqa: BLE001
        out.write(f"{name} error\n")
        sys.stderr.write(f"{name}: {error}\n")
    return unittest.TestSuite()


def main():
    tests, result, modules = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:]
    sys.dont_write_bytecode = True
    sys.path[:0] = [os.fspath(tests), os.fspath(pathlib.Path(__file__).resolve().parent)]
    sys.modules["numba"] = None
    if os.environ.get("TUTTI_TEST_ARRAYS") != "cupy":
        sys.modules["cupy"] = None
    from mpi4py import MPI

    if os.environ.get("TUTTI_TEST_ARRAYS") == "device":
        import arrays

        arrays.install()
    elif os.environ.get("TUTTI_TEST_ARRAYS") == "cupy":
        import cupy_arrays

        cupy_arrays.install()
    rank = MPI.COMM_WORLD.Get_rank()
    names = modules or sorted(p.stem for p in tests.glob("test_*.py") if p.stem not in LEFT_OUT)
    with open(f"{result}.{rank}", "w", encoding="utf-8") as out:
        suite = unittest.TestSuite()
        for name in names:
            suite.addTest(load(name, out))
        outcome = Result(out)
        outcome.rank = rank
        suite.run(outcome)
        out.write("all of them\n")


main()
