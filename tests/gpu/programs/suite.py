"""Runs a module of unit tests on each rank: suite.py RANKS MODULE. Rank 0 prints how many tests ran and failed on all ranks, and the
seconds. Ranks that the launcher did not bring together would each be alone and pass: they are refused."""

import sys
import time
import unittest

from mpi4py import MPI

comm = MPI.COMM_WORLD
ranks, module = int(sys.argv[1]), sys.argv[2]
if comm.size != ranks:
    sys.exit(f"error: {comm.size} ranks instead of {ranks}")
start = time.monotonic()
result = unittest.main(module=None, argv=["suite.py", module], exit=False).result
failed = comm.allreduce(len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses))
skipped = comm.allreduce(len(result.skipped))
if comm.rank == 0:
    sys.stderr.flush()
    print(f"\nsuite: {result.testsRun} {failed} {skipped} {time.monotonic() - start:.1f}", flush=True)
sys.exit(failed != 0)
