// SPDX-License-Identifier: BSD-3-Clause
// Collectives on blocks that are tensors of their own.
#include "backend.h"
#include "buffers.h"
#include "types.h"
#include <numeric>

namespace hierax
{

using c10d::OpType;

// A list with a tensor for each rank, each as long as `one`.
static void check_list(const char *call, const std::vector<Tensors> &lists, const at::Tensor &one, int size)
{
    TORCH_CHECK(lists.size() == 1, "hierax: ", call, ": expected one list of tensors, got ", lists.size());
    TORCH_CHECK(lists[0].size() == static_cast<size_t>(size), "hierax: ", call, ": the list has ", lists[0].size(),
                " tensors, the group ", size, " ranks");
    for (const at::Tensor &tensor : lists[0]) {
        check_like(call, one, check(call, tensor));
        TORCH_CHECK(tensor.numel() == one.numel(), "hierax: ", call, ": a tensor of the list has ", tensor.numel(),
                    " elements, the other tensor ", one.numel());
    }
}

Work Backend::allgather(std::vector<Tensors> &outputs, Tensors &inputs, const c10d::AllgatherOptions &opts)
{
    const Kind kind = {OpType::ALLGATHER, "hierax:all_gather"};
    const auto call = pending(kind);
    const at::Tensor &input = check_one(call->name, inputs);

    check_list(call->name, outputs, input, getSize());
    const Buffer in = reads(*call, input);
    const Buffer out = writes_all(*call, outputs[0], &input);
    call->start(hx_allgather, hx_iallgather, in.data, out.data, in.count, type_to_move(input), group_.comm);
    const auto work = made(kind, call, opts.timeout, inputs, outputs[0]);
    work->lists_are(outputs);
    return work;
}

// outputs[r][i] is rank r's inputs[i].
Work Backend::allgather_coalesced(std::vector<Tensors> &outputs, Tensors &inputs, const c10d::AllgatherOptions &opts)
{
    const Kind kind = {OpType::ALLGATHER_COALESCED, "hierax:all_gather_coalesced"};
    const auto call = pending(kind);

    TORCH_CHECK(outputs.size() == static_cast<size_t>(getSize()), "hierax: ", call->name, ": ", outputs.size(), " lists for ",
                getSize(), " ranks");
    call->group_begin();
    for (size_t i = 0; i < inputs.size(); i++) {
        Tensors of_ranks;
        for (const Tensors &list : outputs) {
            TORCH_CHECK(list.size() == inputs.size(), "hierax: ", call->name, ": a list has ", list.size(),
                        " tensors, the input ", inputs.size());
            of_ranks.push_back(list[i]);
        }
        check_list(call->name, {of_ranks}, check(call->name, inputs[i]), getSize());
        const Buffer in = reads(*call, inputs[i]), out = writes_all(*call, of_ranks, &inputs[i]);
        call->start(hx_allgather, hx_iallgather, in.data, out.data, in.count, type_to_move(inputs[i]), group_.comm);
    }
    group_start(*call);
    const auto work = made(kind, call, opts.timeout, inputs, {});
    work->lists_are(outputs);
    return work;
}

Work Backend::gather(std::vector<Tensors> &outputs, Tensors &inputs, const c10d::GatherOptions &opts)
{
    const Kind kind = {OpType::GATHER, "hierax:gather"};
    const auto call = pending(kind);
    const at::Tensor &input = check_one(call->name, inputs);
    const bool root = getRank() == opts.rootRank;

    TORCH_CHECK(root || outputs.empty(), "hierax: gather: requires empty output on non-root");
    if (root)
        check_list(call->name, outputs, input, getSize());
    const Buffer in = reads(*call, input), out = root ? writes_all(*call, outputs[0], &input) : Buffer{nullptr, 0};
    call->start(hx_gather, hx_igather, in.data, out.data, in.count,
                type_to_move(input), static_cast<int>(opts.rootRank), group_.comm);
    return made(kind, call, opts.timeout, inputs, root ? outputs[0] : Tensors());
}

Work Backend::scatter(Tensors &outputs, std::vector<Tensors> &inputs, const c10d::ScatterOptions &opts)
{
    const Kind kind = {OpType::SCATTER, "hierax:scatter"};
    const auto call = pending(kind);
    const at::Tensor &output = check_one(call->name, outputs);
    const bool root = getRank() == opts.rootRank;

    TORCH_CHECK(root || inputs.empty(), "hierax: scatter: requires empty input on non-root");
    if (root)
        check_list(call->name, inputs, output, getSize());
    const Buffer in = root ? reads_all(*call, inputs[0], &output) : Buffer{nullptr, 0}, out = writes(*call, output);
    call->start(hx_scatter, hx_iscatter, in.data, out.data, out.count,
                type_to_move(output), static_cast<int>(opts.rootRank), group_.comm);
    return made(kind, call, opts.timeout, root ? inputs[0] : Tensors(), outputs);
}

Work Backend::reduce_scatter(Tensors &outputs, std::vector<Tensors> &inputs, const c10d::ReduceScatterOptions &opts)
{
    const Kind kind = {OpType::REDUCE_SCATTER, "hierax:reduce_scatter"};
    const auto call = pending(kind);
    const at::Tensor &output = check_one(call->name, outputs);
    const auto counts = std::make_shared<std::vector<size_t>>();

    TORCH_CHECK(inputs.size() == 1 && inputs[0].size() == static_cast<size_t>(getSize()), "hierax: ", call->name,
                ": expected one list of ", getSize(), " tensors");
    for (const at::Tensor &tensor : inputs[0]) {
        check_like(call->name, output, check(call->name, tensor));
        counts->push_back(tensor.numel());
    }
    TORCH_CHECK(static_cast<size_t>(output.numel()) == (*counts)[getRank()], "hierax: ", call->name, ": the output has ",
                output.numel(), " elements, input ", getRank(), " has ", (*counts)[getRank()]);
    const Reduction how = reduction_of(call->name, output, opts.reduceOp);
    const Buffer in = reads_all(*call, inputs[0], &output), out = writes(*call, output);
    call->after([counts] {}); // Hierax reads them while the request exists
    call->start(hx_reduce_scatter, hx_ireduce_scatter, in.data, out.data,
                counts->data(), how.type, how.op, group_.comm);
    return made(kind, call, opts.timeout, inputs[0], outputs);
}

} // namespace hierax
