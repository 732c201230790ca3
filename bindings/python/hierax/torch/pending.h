// SPDX-License-Identifier: BSD-3-Clause
// A started call: requests of Hierax, the tensors that they use, and the work after them. The thread that waits for it drives it: the
// program's thread in Work::wait, else the completer's thread (completer.h), which also serves futures and abandoned calls.
#pragma once
#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <hierax.h>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace hierax
{

class Pending : public std::enable_shared_from_this<Pending>
{
public:
    using Time = std::chrono::steady_clock::time_point;

    // name: "all_reduce"
    Pending(hx_comm_t *comm, const char *name) : name(name), comm_(comm) {}

    // ---- while the call is made
    void keep(const at::Tensor &tensor) { kept_.push_back(tensor); } // until the call is complete
    void after(std::function<void()> action) { after_.push_back(std::move(action)); }
    // Start one more request: call(arguments..., &request). Throws if it fails. call: hx_iallreduce; blocks: hx_allreduce, by which
    // a group records it. Groups do not record messages.
    template <typename Blocks, typename Start, typename... Arguments>
    void start(Blocks *blocks, Start *call, Arguments... arguments)
    {
        if (gathers_)
            recorded_.push_back([=](hx_request_t **) { return blocks(arguments...); });
        else
            start_now(call, arguments...);
    }
    template <typename Start, typename... Arguments> void start_apart(Start *call, Arguments... arguments)
    {
        if (gathers_)
            apart_.push_back([=](hx_request_t **request) { return call(arguments..., request); });
        else
            start_now(call, arguments...);
    }

    // Requests between these two are started by the second one: the collectives as one group of Hierax.
    void group_begin() { gathers_ = true; }
    void group_start();
    bool gathers() const { return gathers_; } // the call has not been started yet
    // Add what `other` has gathered.
    void take(Pending &other);

    // There is no request yet: action() starts them and returns true, or false if it must be called again, soon.
    void first(std::function<bool()> action) { first_ = std::move(action); }

    // ---- afterwards, by any thread
    bool done();
    bool succeeded();
    std::string failure(); // "" after success

    // Make progress. True if the call is complete.
    bool poll();
    // Return when the call is complete, or at `until`; true if it is complete.
    bool wait(Time until);
    // End this call, and all others of its group.
    void revoke() { hx_comm_revoke(comm_); }
    // Let the completer know when all requests are complete. False: not now, another thread drives the call.
    bool watch();
    // Call back when the call is complete, or at once. No locks are held then.
    void notify(std::function<void()> action);

    const char *const name;
    std::vector<std::function<void()>> profiled; // called at the end
    int source = -1;                             // of a message

private:
    template <typename Start, typename... Arguments> void start_now(Start *call, Arguments... arguments)
    {
        const std::lock_guard<std::mutex> lock(starting);
        hx_request_t *request = nullptr;
        const hx_status_t status = call(arguments..., &request);
        started(status, request);
    }
    void started(hx_status_t status, hx_request_t *request);
    void failed(hx_status_t status);
    bool claim(std::unique_lock<std::mutex> &lock, Time until);
    template <typename Action> bool driven(std::unique_lock<std::mutex> &lock, Action action);
    bool first_done();
    bool requests_test();
    bool requests_end();
    bool requests_wait(Time until);
    void requests_watch();
    static void request_complete(hx_status_t status, void *ctx);
    void finish();

    hx_comm_t *const comm_;
    static std::mutex starting; // Hierax records every call while a group is open
    std::atomic<bool> gathers_{false};
    std::vector<std::function<hx_status_t(hx_request_t **)>> recorded_, apart_;
    std::vector<hx_request_t *> requests_; // NULL: complete
    std::vector<at::Tensor> kept_;
    std::function<bool()> first_;
    std::vector<std::function<void()>> after_, notify_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::string failure_; // of the claiming thread, until done
    size_t watched_ = 0;  // requests of which request_complete has not been called
    bool claimed_ = false, watches_ = false, done_ = false;
};

} // namespace hierax
