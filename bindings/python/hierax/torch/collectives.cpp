// SPDX-License-Identifier: BSD-3-Clause
// Collectives on whole tensors.
#include "backend.h"
#include "buffers.h"
#include "types.h"

namespace hierax
{

using c10d::OpType;

Work Backend::broadcast(Tensors &tensors, const c10d::BroadcastOptions &opts)
{
    const Kind kind = {OpType::BROADCAST, "hierax:broadcast"};
    const auto call = pending(kind);
    const at::Tensor &tensor = check_one(call->name, tensors);
    const Buffer buffer = getRank() == opts.rootRank ? reads(*call, tensor) : writes(*call, tensor);

    call->start(hx_bcast, hx_ibcast, buffer.data, buffer.count, type_to_move(tensor), static_cast<int>(opts.rootRank),
                group_.comm);
    return made(kind, call, opts.timeout, tensors, tensors);
}

void Backend::allreduce_start(Pending &call, const at::Tensor &tensor, const c10d::ReduceOp &op)
{
    const Reduction how = reduction_of(call.name, tensor, op);
    const Buffer buffer = changes(call, tensor);

    call.start(hx_allreduce, hx_iallreduce, HX_IN_PLACE, buffer.data, buffer.count, how.type, how.op, group_.comm);
}

Work Backend::allreduce(Tensors &tensors, const c10d::AllreduceOptions &opts)
{
    const Kind kind = {OpType::ALLREDUCE, "hierax:all_reduce"};
    const auto call = pending(kind);

    if (tensors.size() == 1 && tensors[0].layout() != at::kStrided)
        return allreduce_sparse(tensors, opts);
    allreduce_start(*call, check_one(call->name, tensors), opts.reduceOp);
    return made(kind, call, opts.timeout, tensors, tensors);
}

Work Backend::allreduce_coalesced(Tensors &tensors, const c10d::AllreduceCoalescedOptions &opts)
{
    const Kind kind = {OpType::ALLREDUCE_COALESCED, "hierax:all_reduce"};
    const auto call = pending(kind);

    TORCH_CHECK(!tensors.empty(), "hierax: ", call->name, ": the list of tensors is empty");
    call->group_begin();
    for (const at::Tensor &tensor : tensors)
        allreduce_start(*call, check(call->name, tensor), opts.reduceOp);
    group_start(*call);
    return made(kind, call, opts.timeout, tensors, tensors);
}

Work Backend::reduce(Tensors &tensors, const c10d::ReduceOptions &opts)
{
    const Kind kind = {OpType::REDUCE, "hierax:reduce"};
    const auto call = pending(kind);
    const at::Tensor &tensor = check_one(call->name, tensors);
    const Reduction how = reduction_of(call->name, tensor, opts.reduceOp);
    const bool root = getRank() == opts.rootRank;
    const Buffer buffer = root ? changes(*call, tensor) : reads(*call, tensor);

    call->start(hx_reduce, hx_ireduce, root ? HX_IN_PLACE : buffer.data, root ? buffer.data : nullptr,
                buffer.count, how.type, how.op, static_cast<int>(opts.rootRank), group_.comm);
    return made(kind, call, opts.timeout, tensors, tensors);
}

void Backend::allgather_start(Pending &call, const at::Tensor &output, const at::Tensor &input)
{
    check(call.name, input);
    check(call.name, output);
    check_like(call.name, input, output);
    TORCH_CHECK(output.numel() == input.numel() * getSize(), "hierax: ", call.name,
                ": output tensor size must be equal to world_size times ", "input tensor size, but the output has ",
                output.numel(), " elements, the input ", input.numel(), ", and the group ", getSize(), " ranks");
    const Buffer in = reads(call, input);
    const char *mine = static_cast<const char *>(output.const_data_ptr()) + getRank() * input.nbytes();
    const bool in_place = output.is_contiguous() && in.data == mine;
    const Buffer out = in_place ? writes(call, output) : writes_apart(call, output, input);

    call.start(hx_allgather, hx_iallgather, in_place ? HX_IN_PLACE : in.data, out.data,
               in.count, type_to_move(input), group_.comm);
}

Work Backend::_allgather_base(at::Tensor &output, at::Tensor &input, const c10d::AllgatherOptions &opts)
{
    const Kind kind = {OpType::_ALLGATHER_BASE, "hierax:_all_gather_base"};
    const auto call = pending(kind);

    allgather_start(*call, output, input);
    return made(kind, call, opts.timeout, {input}, {output});
}

Work Backend::allgather_into_tensor_coalesced(Tensors &outputs, Tensors &inputs, const c10d::AllgatherOptions &opts)
{
    const Kind kind = {OpType::COALESCED, "hierax:all_gather_into_tensor_coalesced"};
    const auto call = pending(kind);

    TORCH_CHECK(outputs.size() == inputs.size(), "hierax: ", call->name, ": ", outputs.size(), " outputs for ", inputs.size(),
                " inputs");
    call->group_begin();
    for (size_t i = 0; i < inputs.size(); i++)
        allgather_start(*call, outputs[i], inputs[i]);
    group_start(*call);
    return made(kind, call, opts.timeout, inputs, outputs);
}

void Backend::reduce_scatter_start(Pending &call, const at::Tensor &output, const at::Tensor &input, const c10d::ReduceOp &op)
{
    check(call.name, input);
    check(call.name, output);
    check_like(call.name, input, output);
    TORCH_CHECK(input.numel() == output.numel() * getSize(), "hierax: ", call.name,
                ": input tensor must be the same size as output size times ", "world size, but the input has ", input.numel(),
                " elements, the output ", output.numel(), ", and the group ", getSize(), " ranks");
    const Reduction how = reduction_of(call.name, input, op);
    const Buffer in = reads(call, input), out = writes_apart(call, output, input);

    call.start(hx_reduce_scatter_block, hx_ireduce_scatter_block, in.data, out.data, out.count, how.type, how.op,
               group_.comm);
}

Work Backend::_reduce_scatter_base(at::Tensor &output, at::Tensor &input, const c10d::ReduceScatterOptions &opts)
{
    const Kind kind = {OpType::_REDUCE_SCATTER_BASE, "hierax:_reduce_scatter_base"};
    const auto call = pending(kind);

    reduce_scatter_start(*call, output, input, opts.reduceOp);
    return made(kind, call, opts.timeout, {input}, {output});
}

Work Backend::reduce_scatter_tensor_coalesced(Tensors &outputs, Tensors &inputs, const c10d::ReduceScatterOptions &opts)
{
    const Kind kind = {OpType::COALESCED, "hierax:reduce_scatter_tensor_coalesced"};
    const auto call = pending(kind);

    TORCH_CHECK(outputs.size() == inputs.size(), "hierax: ", call->name, ": ", outputs.size(), " outputs for ", inputs.size(),
                " inputs");
    call->group_begin();
    for (size_t i = 0; i < inputs.size(); i++)
        reduce_scatter_start(*call, outputs[i], inputs[i], opts.reduceOp);
    group_start(*call);
    return made(kind, call, opts.timeout, inputs, outputs);
}

Work Backend::barrier(const c10d::BarrierOptions &opts)
{
    const Kind kind = {OpType::BARRIER, "hierax:barrier"};
    const auto call = pending(kind);

    call->start(hx_barrier, hx_ibarrier, group_.comm);
    return made(kind, call, opts.timeout, {}, {});
}

} // namespace hierax
