// SPDX-License-Identifier: BSD-3-Clause
#include "call.h"
#include "completer.h"
#include "world.h"

namespace hierax
{

using Clock = std::chrono::steady_clock;

static std::exception_ptr exception_of(const std::string &failure)
{
    return std::make_exception_ptr(c10::DistBackendError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, failure));
}

Call::Call(std::shared_ptr<Pending> pending, int rank, c10d::OpType type, const char *title,
           const std::vector<at::Tensor> &inputs, std::vector<at::Tensor> outputs, std::chrono::milliseconds timeout,
           std::chrono::milliseconds of_group)
    : Work(rank, type, title, inputs), pending_(std::move(pending)), outputs_(std::move(outputs)), timeout_(timeout),
      of_group_(of_group)
{
    if (recordFunctionEndCallback_)
        pending_->profiled.push_back(std::exchange(recordFunctionEndCallback_, nullptr));
}

Call::~Call()
{
    if (!pending_->done())
        completer_add(pending_);
}

bool Call::isCompleted()
{
    return pending_->poll();
}

bool Call::isSuccess() const
{
    return pending_->succeeded();
}

std::exception_ptr Call::exception() const
{
    const std::string failure = pending_->failure();

    return failure.empty() ? nullptr : exception_of(failure);
}

std::vector<at::Tensor> Call::result()
{
    return outputs_;
}

int Call::sourceRank() const
{
    return pending_->source;
}

bool Call::wait(std::chrono::milliseconds timeout)
{
    if (pending_->gathers())
        return true; // endCoalescing starts it, and returns what to wait for
    const std::chrono::milliseconds limit = timeout == kNoTimeout ? timeout_ : timeout;
    const auto until = limit == of_group_ ? Clock::time_point::max() : Clock::now() + limit;

    if (!pending_->wait(until)) {
        if (limit == timeout_)
            pending_->revoke(); // the others must not wait for this rank
        C10_THROW_ERROR(DistBackendError,
                        c10::str("hierax: ", pending_->name, ": Timed out at the time-out of ", limit.count() / 1000.0,
                                 " s: another rank of the group has not made the call, or its data has not arrived"));
    }
    if (!pending_->succeeded())
        std::rethrow_exception(exception());
    return true;
}

void Call::synchronize()
{
    wait(kNoTimeout);
}

void Call::abort()
{
    TORCH_CHECK(
        false,
        "hierax: a single call cannot be aborted. Abort the process group: hierax.torch.abort(group)");
}

at::IValue Call::value() const
{
    if (lists_.empty())
        return at::IValue(outputs_);
    return lists_.size() > 1 ? at::IValue(lists_) : at::IValue(lists_[0]);
}

c10::intrusive_ptr<c10::ivalue::Future> Call::future_make() const
{
    c10::TypePtr type = c10::ListType::create(c10::TensorType::get());

    if (lists_.size() > 1)
        type = c10::ListType::create(type);
    return c10::make_intrusive<c10::ivalue::Future>(type);
}

c10::intrusive_ptr<c10::ivalue::Future> Call::getFuture()
{
    if (future_)
        return future_;
    future_ = future_make();
    pending_->notify([future = future_, value = value(), pending = pending_.get()] {
        const std::string failure = pending->failure();
        if (failure.empty())
            future->markCompleted(value);
        else
            future->setError(exception_of(failure));
    });
    if (!pending_->done())
        completer_add(pending_);
    return future_;
}

} // namespace hierax
