# SPDX-License-Identifier: BSD-3-Clause
"""For configure: flags of the compiler, flags of the linker, and the version of PyTorch, if hierax.torch can be built."""
import os
import sys

import torch
import torch.distributed

FIRST = (2, 6)


def first_with(folders, header):
    for folder in folders:
        if os.path.exists(os.path.join(folder, header)):
            return folder
    sys.exit(f"no {header}")


home = os.path.dirname(torch.__file__)
if tuple(int(part) for part in torch.__version__.split(".")[:2]) < FIRST or not torch.distributed.is_available():
    sys.exit("too old, or without torch.distributed")
places = [home + "/include", "/usr/include"]
api = first_with(places, "torch/csrc/distributed/c10d/Backend.hpp") + "/torch/csrc/api/include"
folders = [home + "/include", api, first_with(places, "pybind11/chrono.h")]
print(f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",
      *(f"-isystem {folder}" for folder in folders if folder != "/usr/include"))
print(f"-L{home}/lib -ltorch_python -ltorch -ltorch_cpu -lc10")
print(torch.__version__)
