// SPDX-License-Identifier: BSD-3-Clause
// The files of this folder as one: PyTorch's headers, which take ten times as long to compile as these files, are read once.
#include "alltoall.cpp"
#include "backend.cpp"
#include "buffers.cpp"
#include "call.cpp"
#include "collectives.cpp"
#include "completer.cpp"
#include "lists.cpp"
#include "messages.cpp"
#include "module.cpp"
#include "pending.cpp"
#include "types.cpp"
#include "world.cpp"
