// SPDX-License-Identifier: BSD-3-Clause
// The backend "hierax" of torch.distributed: c10d's collectives as calls of Hierax. One object for each process group.
#pragma once
#include "call.h"
#include "world.h"
#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace hierax
{

using Tensors = std::vector<at::Tensor>;
using Work = c10::intrusive_ptr<c10d::Work>;

class Backend : public c10d::Backend
{
public:
    // name: the group's, by which __init__.py knows it
    Backend(const c10::intrusive_ptr<c10d::Store> &store, int rank, int size, const std::vector<int64_t> &members,
            std::chrono::milliseconds timeout, std::string name);
    ~Backend() override;

    const std::string getBackendName() const override { return "hierax"; }

    // ---- collectives.cpp
    Work broadcast(Tensors &tensors, const c10d::BroadcastOptions &opts) override;
    Work allreduce(Tensors &tensors, const c10d::AllreduceOptions &opts) override;
    Work allreduce_coalesced(Tensors &tensors, const c10d::AllreduceCoalescedOptions &opts) override;
    Work reduce(Tensors &tensors, const c10d::ReduceOptions &opts) override;
    Work _allgather_base(at::Tensor &output, at::Tensor &input, const c10d::AllgatherOptions &opts) override;
    Work allgather_into_tensor_coalesced(Tensors &outputs, Tensors &inputs, const c10d::AllgatherOptions &opts) override;
    Work _reduce_scatter_base(at::Tensor &output, at::Tensor &input, const c10d::ReduceScatterOptions &opts) override;
    Work reduce_scatter_tensor_coalesced(Tensors &outputs, Tensors &inputs, const c10d::ReduceScatterOptions &opts) override;
    Work alltoall_base(at::Tensor &output, at::Tensor &input, std::vector<int64_t> &output_splits,
                       std::vector<int64_t> &input_splits, const c10d::AllToAllOptions &opts) override;
    Work barrier(const c10d::BarrierOptions &opts) override;

    // ---- lists.cpp: blocks in tensors of their own
    Work allgather(std::vector<Tensors> &outputs, Tensors &inputs, const c10d::AllgatherOptions &opts) override;
    Work allgather_coalesced(std::vector<Tensors> &outputs, Tensors &inputs, const c10d::AllgatherOptions &opts) override;
    Work gather(std::vector<Tensors> &outputs, Tensors &inputs, const c10d::GatherOptions &opts) override;
    Work scatter(Tensors &outputs, std::vector<Tensors> &inputs, const c10d::ScatterOptions &opts) override;
    Work reduce_scatter(Tensors &outputs, std::vector<Tensors> &inputs, const c10d::ReduceScatterOptions &opts) override;
    Work alltoall(Tensors &outputs, Tensors &inputs, const c10d::AllToAllOptions &opts) override;

    // ---- sparse.cpp
    Work allreduce_sparse(Tensors &tensors, const c10d::AllreduceOptions &opts) override;

    // ---- messages.cpp
    Work send(Tensors &tensors, int dest, int tag) override;
    Work recv(Tensors &tensors, int source, int tag) override;
    Work recvAnysource(Tensors &tensors, int tag) override;

    // ---- backend.cpp
    // Calls between these two are started by the second one: the collectives as one group of Hierax.
    void startCoalescing() override;
    Work endCoalescing() override;
    void setSequenceNumberForGroup() override {}
    uint64_t getSequenceNumberForGroup() override { return calls_; }
    // Leave the group: world_leave.
    void leave(bool orderly);
    // PyTorch 2.6 does not have the next three in c10d's interface. Later versions override theirs by these.
    // All members' calls that are under way, and their later ones, fail. Any thread may call it.
    void abort();
    // The end of the group, by ProcessGroup.shutdown: module.cpp.
    void shutdown();
    // Of calls without a time-out of their own, from the next one on. All members call it.
    void setTimeout(std::chrono::milliseconds timeout);
    // How sums cross nodes: hx_comm_set_wire. All members call it.
    void setWire(const std::string &format);
#ifdef C10D_BACKEND_HAS_RECONFIGURE // c10d then also has ErrorType
    c10d::ErrorType getError() override;
#endif
    // Memory of hx_alloc, as a tensor of bytes. Collective.
    at::Tensor memory(int64_t bytes);

private:
    bool drained(std::chrono::milliseconds timeout);
    struct Kind {
        c10d::OpType type;
        const char *title; // "hierax:all_reduce"
    };
    std::shared_ptr<Pending> pending(const Kind &kind);
    // The call is started: what the program gets.
    c10::intrusive_ptr<Call> made(const Kind &kind, const std::shared_ptr<Pending> &pending, std::chrono::milliseconds timeout,
                                  const Tensors &inputs, Tensors outputs);
    void group_start(Pending &call);
    void allreduce_start(Pending &pending, const at::Tensor &tensor, const c10d::ReduceOp &op);
    void reduce_scatter_start(Pending &pending, const at::Tensor &output, const at::Tensor &input, const c10d::ReduceOp &op);
    void allgather_start(Pending &pending, const at::Tensor &output, const at::Tensor &input);

    Group group_;
    const std::string name_;
    std::chrono::milliseconds timeout_;
    std::vector<std::weak_ptr<Pending>> live_;
    std::shared_ptr<Pending> coalesced_; // between startCoalescing and endCoalescing
    uint64_t calls_ = 0;
};

} // namespace hierax
