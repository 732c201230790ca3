// SPDX-License-Identifier: BSD-3-Clause
// What a collective returns to the program: c10d's view of a pending call.
#pragma once
#include "pending.h"
#include <memory>
#include <torch/csrc/distributed/c10d/Work.hpp>

namespace hierax
{

class Call : public c10d::Work
{
public:
    // title: "hierax:all_reduce", for the profiler. value: of the future. timeout: for wait() without one. Hierax ends
    // the call by itself at `of_group`.
    Call(std::shared_ptr<Pending> pending, int rank, c10d::OpType type, const char *title,
         const std::vector<at::Tensor> &inputs, std::vector<at::Tensor> outputs, std::chrono::milliseconds timeout,
         std::chrono::milliseconds of_group);
    ~Call() override; // a call that the program drops goes on

    bool isCompleted() override;
    bool isSuccess() const override;
    std::exception_ptr exception() const override;
    std::vector<at::Tensor> result() override;
    int sourceRank() const override;
    bool wait(std::chrono::milliseconds timeout) override;
    void synchronize() override;
    void abort() override;
    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

    // An all-gather's lists: the future's value.
    void lists_are(std::vector<std::vector<at::Tensor>> lists) { lists_ = std::move(lists); }
    const std::shared_ptr<Pending> &pending() const { return pending_; }

private:
    c10::intrusive_ptr<c10::ivalue::Future> future_make() const;
    at::IValue value() const;

    const std::shared_ptr<Pending> pending_;
    const std::vector<at::Tensor> outputs_;
    std::vector<std::vector<at::Tensor>> lists_;
    const std::chrono::milliseconds timeout_, of_group_;
    c10::intrusive_ptr<c10::ivalue::Future> future_;
};

} // namespace hierax
