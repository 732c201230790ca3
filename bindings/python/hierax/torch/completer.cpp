// SPDX-License-Identifier: BSD-3-Clause
#include "completer.h"
#include <algorithm>
#include <pthread.h>
#include <signal.h>
#include <thread>

namespace hierax
{

// Never destroyed: the thread may be in it when the process ends.
static struct Completer {
    std::mutex mutex;
    std::condition_variable news;
    std::vector<std::shared_ptr<Pending>> arrived;
    std::thread thread;
    bool ends = false, woken = false;
} &completer = *new Completer;

// Look at all calls; keep the order in which they were made.
static bool calls_poll(std::vector<std::shared_ptr<Pending>> &calls)
{
    const size_t before = calls.size();

    calls.erase(std::remove_if(calls.begin(), calls.end(), [](const auto &call) { return call->poll(); }), calls.end());
    return calls.size() < before;
}

// Hierax wakes the thread for the calls that are watched. It looks at the others from time to time.
static bool all_watched(const std::vector<std::shared_ptr<Pending>> &calls)
{
    return std::all_of(calls.begin(), calls.end(), [](const auto &call) { return call->watch(); });
}

static void run()
{
    std::vector<std::shared_ptr<Pending>> calls;
    std::unique_lock<std::mutex> lock(completer.mutex);

    pthread_setname_np(pthread_self(), "hierax-torch");
    while (!completer.ends) {
        calls.insert(calls.end(), completer.arrived.begin(), completer.arrived.end());
        completer.arrived.clear();
        completer.woken = false;
        lock.unlock();
        const bool watched = all_watched(calls), some = calls_poll(calls);
        lock.lock();
        const auto news = [] { return completer.ends || completer.woken || !completer.arrived.empty(); };
        if (some)
            continue;
        if (watched)
            completer.news.wait(lock, news);
        else
            completer.news.wait_for(lock, std::chrono::milliseconds(1), news);
    }
}

void completer_wake()
{
    {
        const std::lock_guard<std::mutex> lock(completer.mutex);
        completer.woken = true;
    }
    completer.news.notify_one();
}

void completer_add(std::shared_ptr<Pending> call)
{
    const std::lock_guard<std::mutex> lock(completer.mutex);

    if (completer.ends)
        return;
    completer.arrived.push_back(std::move(call));
    if (!completer.thread.joinable()) {
        sigset_t all, old; // signals are for the program's own threads
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &old);
        completer.thread = std::thread(run);
        pthread_sigmask(SIG_SETMASK, &old, nullptr);
    }
    completer.news.notify_one();
}

void completer_stop()
{
    {
        const std::lock_guard<std::mutex> lock(completer.mutex);
        completer.ends = true;
    }
    completer.news.notify_one();
    if (completer.thread.joinable())
        completer.thread.join();
}

} // namespace hierax
