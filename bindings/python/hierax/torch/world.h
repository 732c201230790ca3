// SPDX-License-Identifier: BSD-3-Clause
// The world of Hierax in this process. The first process group starts it; later groups are communicators of some of its ranks.
// The last group that ends also ends the world.
#pragma once
#include <chrono>
#include <cstdint>
#include <hierax.h>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

namespace hierax
{

struct Group {
    hx_comm_t *comm = nullptr;
    std::vector<int64_t> members; // ranks of the job
};

// Join a group: `members` in the order of their ranks there, this process being number `rank`. Blocking; all members call it.
// Hierax ends a call that makes no progress for `timeout`. The first group's also holds for starts and ends of groups (HX_TIMEOUT).
// Throws with Hierax's own text.
Group world_join(const c10::intrusive_ptr<c10d::Store> &store, int rank, const std::vector<int64_t> &members,
                 std::chrono::milliseconds timeout);

// Let calls of the group wait so long for progress, from the next one on. All members call it. Throws.
void world_set_timeout(const Group &group, std::chrono::milliseconds timeout);

// Let sums on the group cross nodes in this format: hx_comm_set_wire. All members call it. Throws.
void world_set_wire(const Group &group, const std::string &format);

// Leave a group. The last group also stops Hierax: this waits until all ranks of the world have left their groups. `orderly`
// false: an exception ends this process. Hierax then stays as it is, and for the other ranks this rank dies with its process.
void world_leave(Group &group, bool orderly);

// DistBackendError with the detail of the last error on comm, or of this thread if comm is NULL.
[[noreturn]] void fail(const char *call, hx_status_t status, const hx_comm_t *comm);
std::string failure_text(const char *call, hx_status_t status, const hx_comm_t *comm);

} // namespace hierax
