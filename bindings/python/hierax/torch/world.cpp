// SPDX-License-Identifier: BSD-3-Clause
#include "world.h"
#include <algorithm>
#include <c10/util/Exception.h>
#include <mutex>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <unistd.h>

namespace hierax
{

static struct {
    std::mutex mutex;
    hx_comm_t *comm;
    std::vector<int64_t> members;
    int groups;
    pid_t pid;
} world;

std::string failure_text(const char *call, hx_status_t status, const hx_comm_t *comm)
{
    const std::string detail = hx_error_detail(comm);

    // programs know a time-out by PyTorch's own words
    return c10::str("hierax: ", call, ": ", status == HX_ERR_TIMEOUT ? "Timed out without progress: " : "",
                    detail.empty() ? "" : detail + " ", "(", hx_strerror(status), ")");
}

void fail(const char *call, hx_status_t status, const hx_comm_t *comm)
{
    C10_THROW_ERROR(DistBackendError, failure_text(call, status, comm));
}

// ---- Hierax's bootstrap, over PyTorch's store

struct Meeting {
    c10::intrusive_ptr<c10d::Store> store;
    int size;
    int fences;
    std::string error; // of the store
};

template <typename Action> static int with_store(void *ctx, Action action)
{
    auto *meeting = static_cast<Meeting *>(ctx);

    try {
        return action(*meeting) ? 0 : 1;
    } catch (const std::exception &error) {
        meeting->error = error.what();
        return 1;
    }
}

static int store_put(void *ctx, const char *key, const char *value)
{
    return with_store(ctx, [&](Meeting &meeting) {
        meeting.store->set(key, std::string(value));
        return true;
    });
}

static int store_get(void *ctx, const char *key, char *value, size_t capacity_bytes)
{
    return with_store(ctx, [&](Meeting &meeting) {
        if (!meeting.store->check({key}))
            return false;
        const std::vector<uint8_t> got = meeting.store->get(key);
        if (got.size() >= capacity_bytes)
            return false;
        std::copy(got.begin(), got.end(), value);
        value[got.size()] = '\0';
        return true;
    });
}

static int store_fence(void *ctx)
{
    return with_store(ctx, [&](Meeting &meeting) {
        const std::string name = c10::str("fence/", meeting.fences++);
        if (meeting.store->add(name, 1) == meeting.size)
            meeting.store->set(name + "/all", std::string("1"));
        meeting.store->wait({name + "/all"});
        return true;
    });
}

// A process may start a world again over the same store: the n-th start of a rank meets the n-th of the others.
static c10::intrusive_ptr<c10d::Store> store_of_this_start(const c10::intrusive_ptr<c10d::Store> &store, int rank)
{
    const int64_t start = store->add(c10::str("hierax/starts/", rank), 1);

    return c10::make_intrusive<c10d::PrefixStore>(c10::str("hierax/", start), store);
}

static double seconds(std::chrono::milliseconds time)
{
    return static_cast<double>(time.count()) / 1000;
}

static void world_start(const c10::intrusive_ptr<c10d::Store> &store, int rank, const std::vector<int64_t> &members,
                        std::chrono::milliseconds timeout)
{
    Meeting meeting{store_of_this_start(store, rank), static_cast<int>(members.size()), 0, ""};
    const hx_bootstrap_t bootstrap = {rank, meeting.size, store_put, store_fence, store_get, &meeting};
    const std::string limit = c10::str("HX_TIMEOUT=", seconds(timeout));
    const char *settings[] = {limit.c_str(), "HX_PROGRESS_THREAD=1", nullptr};
    const hx_config_t config = {&bootstrap, settings};
    const hx_status_t status = hx_init_with(&config, &world.comm);

    TORCH_CHECK_WITH(DistBackendError, status == HX_SUCCESS, failure_text("start", status, nullptr),
                     meeting.error.empty() ? "" : ". The store says: ", meeting.error);
    world.members = members;
    world.pid = getpid();
}

// The places in the world of a group's members.
static std::vector<int> places_of(const std::vector<int64_t> &members)
{
    std::vector<int> places;

    for (int64_t member : members) {
        const auto found = std::find(world.members.begin(), world.members.end(), member);
        TORCH_CHECK(found != world.members.end(), "hierax: rank ", member,
                    " is not in this process's first group with backend hierax, which has ", world.members.size(),
                    " ranks. Later groups choose among those: make the default group a hierax group");
        places.push_back(static_cast<int>(found - world.members.begin()));
    }
    return places;
}

Group world_join(const c10::intrusive_ptr<c10d::Store> &store, int rank, const std::vector<int64_t> &members,
                 std::chrono::milliseconds timeout)
{
    const std::lock_guard<std::mutex> lock(world.mutex);
    Group group{nullptr, members};

    if (world.comm && world.groups == 0) { // an exception has left it open
        hx_finalize();
        world.comm = nullptr;
    }
    if (!world.comm)
        world_start(store, rank, members, timeout);
    if (world.groups == 0) {
        group.comm = world.comm;
    } else {
        const std::vector<int> places = places_of(members);
        const hx_status_t status = hx_comm_group(world.comm, places.data(), static_cast<int>(places.size()), &group.comm);
        if (status != HX_SUCCESS)
            fail("new_group", status, world.comm);
        world_set_timeout(group, timeout);
    }
    world.groups++;
    return group;
}

void world_set_timeout(const Group &group, std::chrono::milliseconds timeout)
{
    const hx_status_t status = hx_comm_set_timeout(group.comm, seconds(timeout));

    if (status != HX_SUCCESS)
        fail("set_timeout", status, group.comm);
}

void world_set_wire(const Group &group, const std::string &format)
{
    const hx_status_t status = hx_comm_set_wire(group.comm, format.c_str());

    if (status != HX_SUCCESS)
        fail("set_wire", status, group.comm);
}

void world_leave(Group &group, bool orderly)
{
    const std::lock_guard<std::mutex> lock(world.mutex);
    hx_comm_t *comm = std::exchange(group.comm, nullptr);

    if (!comm || world.pid != getpid())
        return;
    world.groups--;
    if (comm != world.comm)
        hx_comm_free(comm);
    if (world.groups == 0 && orderly) {
        const hx_status_t status = hx_finalize();
        if (status == HX_ERR_STATE) {
            TORCH_WARN(failure_text("destroy_process_group", status, nullptr));
        } else {
            world.comm = nullptr;
        }
    }
}

} // namespace hierax
