// SPDX-License-Identifier: BSD-3-Clause
#include "pending.h"
#include "completer.h"
#include "world.h"
#include <thread>

namespace hierax
{

void Pending::started(hx_status_t status, hx_request_t *request)
{
    if (status == HX_SUCCESS)
        requests_.push_back(request);
    else
        fail(name, status, comm_);
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

// Become the thread that drives the call. False: it is complete, or `until` has passed.
bool Pending::claim(std::unique_lock<std::mutex> &lock, Time until)
{
    while (claimed_ && !done_)
        if (until == Time::max())
            changed_.wait(lock);
        else if (changed_.wait_until(lock, until) == std::cv_status::timeout)
            break;
    if (claimed_ || done_)
        return false;
    claimed_ = true;
    return true;
}

// By the thread that has the claim.
bool Pending::first_done()
{
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
        if (status != HX_SUCCESS && failure_.empty())
            failure_ = failure_text(name, status, comm_);
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
        const hx_status_t status = request ? hx_wait(request) : HX_SUCCESS;
        request = nullptr;
        if (status != HX_SUCCESS && failure_.empty())
            failure_ = failure_text(name, status, comm_);
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
    if (profiled)
        profiled();
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

    if (done_ || claimed_)
        return done_;
    claimed_ = true;
    lock.unlock();
    const bool started = first_done();
    if (started)
        requests_watch();
    lock.lock();
    claimed_ = false;
    changed_.notify_all();
    return started;
}

bool Pending::poll()
{
    std::unique_lock<std::mutex> lock(mutex_);

    if (done_ || claimed_ || (watches_ && watched_ > 0))
        return done_;
    claimed_ = true;
    lock.unlock();
    if (watches_ ? requests_end() : requests_test()) {
        finish();
        return true;
    }
    lock.lock();
    claimed_ = false;
    changed_.notify_all();
    return false;
}

bool Pending::wait(Time until)
{
    std::unique_lock<std::mutex> lock(mutex_);

    if (!claim(lock, until))
        return done_;
    lock.unlock();
    if (requests_wait(until)) {
        finish();
        return true;
    }
    lock.lock();
    claimed_ = false;
    changed_.notify_all();
    return false;
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
