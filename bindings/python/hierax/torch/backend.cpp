// SPDX-License-Identifier: BSD-3-Clause
#include "backend.h"
#include <cstring>

namespace hierax
{

Backend::Backend(const c10::intrusive_ptr<c10d::Store> &store, int rank, int size, const std::vector<int64_t> &members,
                 std::chrono::milliseconds timeout, std::string name)
    : c10d::Backend(rank, size), group_(world_join(store, rank, members, timeout)), name_(std::move(name)), timeout_(timeout)
{
}

Backend::~Backend() = default; // leave() or the process's end

std::shared_ptr<Pending> Backend::pending(const Kind &kind)
{
    TORCH_CHECK_WITH(DistBackendError, group_.comm, "hierax: ", kind.title + strlen("hierax:"),
                     ": the process group has been destroyed");
    auto call = std::make_shared<Pending>(group_.comm, kind.title + strlen("hierax:"));
    if (coalesced_)
        call->group_begin();
    return call;
}

c10::intrusive_ptr<Call> Backend::made(const Kind &kind, const std::shared_ptr<Pending> &pending,
                                       std::chrono::milliseconds timeout, const Tensors &inputs, Tensors outputs)
{
    calls_++;
    if (coalesced_)
        coalesced_->take(*pending);
    if (live_.size() >= 64)
        live_.erase(std::remove_if(live_.begin(), live_.end(), [](const auto &call) { return call.expired(); }), live_.end());
    live_.push_back(pending);
    return c10::make_intrusive<Call>(coalesced_ ? coalesced_ : pending, getRank(), kind.type, kind.title, inputs,
                                     std::move(outputs), timeout == c10d::kUnsetTimeout ? timeout_ : timeout, timeout_);
}

static const char COALESCED[] = "hierax:coalesced";

void Backend::startCoalescing()
{
    TORCH_CHECK(!coalesced_, "hierax: startCoalescing: the group coalesces already: call endCoalescing first");
    coalesced_ = pending({c10d::OpType::COALESCED, COALESCED});
    coalesced_->group_begin();
}

Work Backend::endCoalescing()
{
    TORCH_CHECK(coalesced_, "hierax: endCoalescing: call startCoalescing first");
    const auto call = std::exchange(coalesced_, nullptr);
    call->group_start();
    return made({c10d::OpType::COALESCED, COALESCED}, call, c10d::kUnsetTimeout, {}, {});
}

// A coalesced call; inside startCoalescing and endCoalescing, these start it.
void Backend::group_start(Pending &call)
{
    if (!coalesced_)
        call.group_start();
}

// Wait until the started calls are complete. True if they are.
bool Backend::drained(std::chrono::milliseconds timeout)
{
    const auto until = Pending::Time::clock::now() + timeout;
    bool all = true;

    for (const auto &call : live_)
        if (const auto pending = call.lock())
            all &= pending->wait(until);
    return all;
}

void Backend::leave(bool orderly)
{
    const std::chrono::milliseconds patience(10000);

    if (orderly && !drained(std::min(timeout_, patience))) {
        abort(); // nobody waits for these calls, such as a receive of a message that no rank sends
        drained(patience);
    }
    live_.clear();
    world_leave(group_, orderly);
}

void Backend::abort()
{
    if (group_.comm)
        hx_comm_revoke(group_.comm);
}

void Backend::setTimeout(std::chrono::milliseconds timeout)
{
    TORCH_CHECK(group_.comm, "hierax: set_timeout: the process group has been destroyed");
    world_set_timeout(group_, timeout);
    timeout_ = timeout;
}

void Backend::setWire(const std::string &format)
{
    TORCH_CHECK(group_.comm, "hierax: set_wire: the process group has been destroyed");
    world_set_wire(group_, format);
}

#ifdef C10D_BACKEND_HAS_RECONFIGURE
c10d::ErrorType Backend::getError()
{
    int dead = 0;

    if (!group_.comm || hx_comm_failed(group_.comm, nullptr, 0, &dead) != HX_SUCCESS)
        return c10d::ErrorType::COMM_ERROR;
    return dead > 0 ? c10d::ErrorType::REMOTE_ERROR : c10d::ErrorType::SUCCESS;
}
#endif

at::Tensor Backend::memory(int64_t bytes)
{
    void *memory = nullptr;
    const hx_status_t status = hx_alloc(group_.comm, static_cast<size_t>(bytes), &memory);

    if (status != HX_SUCCESS)
        fail("empty", status, group_.comm);
    const auto release = [comm = group_.comm](void *data) { hx_free(comm, data); }; // once comm is closed, hx_finalize does that
    return at::from_blob(memory, {bytes}, release, at::TensorOptions().dtype(at::kByte));
}

} // namespace hierax
