# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's own tests of torch.distributed, with the backend "hierax" or another.

    BACKEND=hierax WORLD_SIZE=3 torchs_own.py [test...]

EXCEPTIONS names the tests that do not pass with hierax, and why. The run fails if another test fails, or if one of these passes.
PyTorch 2.6 starts a new interpreter for each rank of each test. Here the ranks are forked from one that has imported everything."""
import importlib.util
import os
import sys
import tempfile
import unittest

EXCEPTIONS = {
    "test_ddp_logging_data_cpu": 'DDP logs the backend as "custom", as it does for every backend that is not part of PyTorch',
    **dict.fromkeys(("test_monitored_barrier_gloo", "test_monitored_barrier_gloo_rank_0_timeout",
                     "test_monitored_barrier_gloo_subgroup"),
                    "torch.distributed refuses monitored_barrier if the backend's name is not gloo"),
}

os.environ.setdefault("BACKEND", "hierax")
os.environ.setdefault("WORLD_SIZE", "3")
os.environ.setdefault("TEMP_DIR", tempfile.mkdtemp(prefix="torchs_own."))

import torch.multiprocessing  # noqa: E402
from torch.testing._internal import common_distributed, common_utils  # noqa: E402

import hierax.torch  # noqa: E402,F401

for feature in ("ddp", "subgroup", "plugin"):
    common_distributed.DistTestCases.backend_feature[feature].add("hierax")

# Tests that PyTorch runs with some backends by their names, though they need nothing of these backends alone.
FOR_OTHERS = ("Only gloo backend supports timeouts", "GLOO Batch Send Recv CPU",
              "get_future is only supported on mpi, nccl and gloo",
              "Only Nccl & Gloo backend support DistributedDataParallel", "Only MPI supports CPU all_to_all_single",
              "Only MPI supports all_to_all", "Only Gloo backend support sparse all reduce")


def skip_if(condition, reason, of_torch=common_utils.skip_but_pass_in_sandcastle_if):
    return of_torch(condition and not (os.environ["BACKEND"] == "hierax" and reason in FOR_OTHERS), reason)


common_utils.skip_but_pass_in_sandcastle_if = skip_if


LINES = {
    # decorators look at names of backends while the module is loaded
    "if BACKEND not in backends:": "if not {BACKEND, 'gloo' if BACKEND == 'hierax' else BACKEND} & set(backends):",
    # tests of DDP's no_sync make their model by the backend's name
    'if BACKEND == "mpi" or BACKEND == "gloo":': 'if BACKEND in ("mpi", "gloo", "hierax"):',
    # Python 3.13 words this error in another way
    """(AttributeError, "Can't pickle local object")""": """(AttributeError, "Can't (pickle|get) local object")""",
}


def load(name, lines):
    """The module, with these parts of its lines changed."""
    spec = importlib.util.find_spec(name)
    source = spec.loader.get_source(name)
    for line, instead in lines.items():
        assert source.count(line) == 1, f"{name} has not the line: {line}"
        source = source.replace(line, instead)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module # pickle looks there
    exec(compile(source, spec.origin, "exec"), module.__dict__)
    return module


distributed_test = load("torch.testing._internal.distributed.distributed_test", LINES)


class TorchsOwn(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
    def setUp(self):
        super().setUp()
        self._start_processes(torch.multiprocessing.get_context("fork").Process)


class Result(unittest.TextTestResult):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.passed = []

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed.append(test._testMethodName)


def main(names):
    loader = unittest.TestLoader()
    suite = loader.loadTestsFromNames([f"TorchsOwn.{name}" for name in names], sys.modules[__name__]) if names else \
        loader.loadTestsFromTestCase(TorchsOwn)
    result = unittest.TextTestRunner(resultclass=Result, verbosity=2).run(suite)
    failed = {test._testMethodName for test, _ in result.failures + result.errors}
    excepted = EXCEPTIONS if os.environ["BACKEND"] == "hierax" else {}
    print(f"{os.environ['BACKEND']}: {result.testsRun} tests, {len(result.passed)} passed, {len(result.skipped)} skipped,"
          f" {len(failed)} failed, {len(failed & set(excepted))} of them listed")
    for name in sorted(failed):
        print(f"{'listed' if name in excepted else 'FAIL'}: {name}: {excepted.get(name, '')}")
    for name in sorted(set(excepted) & set(result.passed)):
        print(f"FAIL: {name} passes: take it off the list of exceptions")
    wrong = len((failed - set(excepted)) | (set(excepted) & set(result.passed)))
    print(f"{len(result.passed)} passed, {wrong} failed")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
