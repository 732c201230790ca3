// SPDX-License-Identifier: BSD-3-Clause
#include "pending.h"
#include "completer.h"
#include "world.h"
#include <thread>

namespace hierax
{

std::mutex Pending::starting;

void Pending::started(hx_status_t status, hx_request_t *request)
{
    if (status == HX_SUCCESS)
        requests_.push_back(request);
    else
        fail(name, status, comm_);
}

void Pending::failed(hx_status_t status)
{
    if (status != HX_SUCCESS && failure_.empty())
        failure_ = failure_text(name, status, comm_);
}

// A wait tells the errors: other calls of the group may be under way, and use the tensors.
void Pending::group_start()
{
    const std::lock_guard<std::mutex> lock(starting);
    hx_request_t *request = nullptr;

    if (!recorded_.empty()) {
        failed(hx_group_begin(comm_));
        for (auto call = recorded_.begin(); call != recorded_.end() && failure_.empty(); ++call)
            failed((*call)(nullptr));
        failed(hx_group_end(comm_, &request));
        requests_.push_back(request);
    }
    for (const auto &start : apart_) {
        failed(start(&request));
        requests_.push_back(request);
    }
    recorded_.clear();
    apart_.clear();
    gathers_ = false;
}

template <typename Item> static void append(std::vector<Item> &items, std::vector<Item> &more)
{
    std::move(more.begin(), more.end(), std::back_inserter(items));
}

void Pending::take(Pending &other)
{
    append(recorded_, other.recorded_);
    append(apart_, other.apart_);
    append(kept_, other.kept_);
    append(after_, other.after_);
}

bool Pending::done()
{
    const std::lock_guard<std::mutex> lock(mutex_);

    return done_;
}

bool Pending::succeeded()
{
    const std::lock_guard<std::mutex> lock(mutex_);

    return done_ && failure_.empty();
}

std::string Pending::failure()
{
    const std::lock_guard<std::mutex> lock(mutex_);

    return done_ ? failure_ : "";
}

// May this thread drive the call? False: it is complete, or `until` has passed.
bool Pending::claim(std::unique_lock<std::mutex> &lock, Time until)
{
    while (claimed_ && !done_)
        if (until == Time::max())
            changed_.wait(lock);
        else if (changed_.wait_until(lock, until) == std::cv_status::timeout)
            break;
    return !claimed_ && !done_;
}

// This thread drives the call meanwhile. action() returns true if all requests are complete. True: the call is complete.
template <typename Action> bool Pending::driven(std::unique_lock<std::mutex> &lock, Action action)
{
    claimed_ = true;
    lock.unlock();
    if (action()) {
        finish();
        return true;
    }
    lock.lock();
    claimed_ = false;
    changed_.notify_all();
    return false;
}

// By the thread that has the claim.
bool Pending::first_done()
{
    if (gathers_)
        return false;
    try {
        if (first_ && !first_())
            return false;
    } catch (const std::exception &error) {
        failure_ = error.what();
    }
    first_ = nullptr;
    return true;
}

bool Pending::requests_test()
{
    bool all = true;

    if (!first_done())
        return false;
    for (hx_request_t *&request : requests_) {
        int complete = 1;
        if (!request)
            continue;
        const hx_status_t status = hx_test(request, &complete);
        failed(status);
        if (complete || status != HX_SUCCESS)
            request = nullptr;
        else
            all = false;
    }
    return all;
}

void Pending::request_complete(hx_status_t, void *ctx)
{
    const std::unique_ptr<std::shared_ptr<Pending>> call(static_cast<std::shared_ptr<Pending> *>(ctx));
    {
        const std::lock_guard<std::mutex> lock((*call)->mutex_);
        if (--(*call)->watched_ > 0)
            return;
    }
    (*call)->changed_.notify_all();
    completer_wake();
}

// By the thread that has the claim.
void Pending::requests_watch()
{
    if (std::exchange(watches_, true))
        return;
    watched_ = requests_.size() + 1; // one until all are asked for
    for (hx_request_t *request : requests_) {
        auto *ctx = new std::shared_ptr<Pending>(shared_from_this());
        if (!request || hx_request_notify(request, request_complete, ctx) != HX_SUCCESS)
            request_complete(HX_SUCCESS, ctx);
    }
    request_complete(HX_SUCCESS, new std::shared_ptr<Pending>(shared_from_this()));
}

bool Pending::requests_end()
{
    for (hx_request_t *&request : requests_) {
        failed(request ? hx_wait(request) : HX_SUCCESS);
        request = nullptr;
    }
    return true;
}

// hx_wait ends at Hierax's own time-out. For an earlier one, wait for the callbacks.
bool Pending::requests_wait(Time until)
{
    for (int looks = 0; !first_done(); looks++) {
        if (Time::clock::now() >= until)
            return false;
        std::this_thread::sleep_for(std::chrono::microseconds(looks < 100 ? 0 : 50));
    }
    if (until == Time::max())
        return requests_end();
    requests_watch();
    std::unique_lock<std::mutex> lock(mutex_);
    if (!changed_.wait_until(lock, until, [&] { return watched_ == 0; }))
        return false;
    lock.unlock();
    return requests_end(); // the callbacks return now
}

// By the thread that has the claim: the requests are complete.
void Pending::finish()
{
    std::vector<std::function<void()>> notify;
    {
        const at::NoGradGuard no_grad;
        if (failure_.empty())
            for (const auto &action : after_)
                action();
    }
    for (const auto &end : profiled)
        end();
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        done_ = true;
        claimed_ = false;
        kept_.clear();
        after_.clear();
        notify.swap(notify_);
    }
    changed_.notify_all();
    for (const auto &action : notify)
        action();
}

bool Pending::watch()
{
    std::unique_lock<std::mutex> lock(mutex_);
    bool started = false;

    if (done_ || claimed_)
        return done_;
    driven(lock, [&] {
        if ((started = first_done()))
            requests_watch();
        return false;
    });
    return started;
}

bool Pending::poll()
{
    std::unique_lock<std::mutex> lock(mutex_);

    if (done_ || claimed_ || (watches_ && watched_ > 0))
        return done_;
    return driven(lock, [&] { return watches_ ? requests_end() : requests_test(); });
}

bool Pending::wait(Time until)
{
    std::unique_lock<std::mutex> lock(mutex_);

    if (!claim(lock, until))
        return done_;
    return driven(lock, [&] { return requests_wait(until); });
}

void Pending::notify(std::function<void()> action)
{
    std::unique_lock<std::mutex> lock(mutex_);

    if (!done_) {
        notify_.push_back(std::move(action));
        return;
    }
    lock.unlock();
    action();
}

} // namespace hierax
