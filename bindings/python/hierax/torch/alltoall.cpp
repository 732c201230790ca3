// SPDX-License-Identifier: BSD-3-Clause
// All-to-all: in one tensor, or a tensor for each rank.
#include "backend.h"
#include "buffers.h"
#include "types.h"

namespace hierax
{

using c10d::OpType;

namespace
{
struct Blocks {
    std::vector<size_t> counts, displs;

    void add(size_t count)
    {
        displs.push_back(counts.empty() ? 0 : displs.back() + counts.back());
        counts.push_back(count);
    }
};

struct Exchange {
    Blocks in, out;
};
} // namespace

// A tensor's blocks: rows of its first dimension. No splits: as many for each rank.
static Blocks blocks_of(const char *call, const at::Tensor &tensor, const std::vector<int64_t> &splits, int size)
{
    const int64_t rows = tensor.dim() ? tensor.size(0) : 1, row = rows ? tensor.numel() / rows : 0;
    int64_t sum = 0;
    Blocks blocks;

    TORCH_CHECK(splits.empty() || splits.size() == static_cast<size_t>(size), "hierax: ", call,
                ": Number of tensor splits not equal to group size: ", splits.size(), " splits for ", size, " ranks");
    TORCH_CHECK(!splits.empty() || rows % size == 0, "hierax: ", call,
                ": Tensor's dim 0 does not divide equally across group size: ", rows, " rows for ", size, " ranks");
    for (int i = 0; i < size; i++) {
        const int64_t split = splits.empty() ? rows / size : splits[i];
        TORCH_CHECK(split >= 0, "hierax: ", call, ": the split for rank ", i, " is ", split);
        sum += split;
        blocks.add(split * row);
    }
    TORCH_CHECK(sum == rows, "hierax: ", call, ": Split sizes doesn't match total dim 0 size: they add up to ", sum,
                ", the tensor has ", rows, " rows");
    return blocks;
}

static Blocks blocks_of(const Tensors &tensors)
{
    Blocks blocks;

    for (const at::Tensor &tensor : tensors)
        blocks.add(tensor.numel());
    return blocks;
}

static void start(Pending &call, const Buffer &in, const Buffer &out, const std::shared_ptr<Exchange> &how, hx_dtype_t type,
                  hx_comm_t *comm)
{
    call.after([how] {}); // Hierax reads it while the request exists
    call.start(hx_alltoallv, hx_ialltoallv, in.data, how->in.counts.data(), how->in.displs.data(), out.data,
               how->out.counts.data(), how->out.displs.data(), type, comm);
}

Work Backend::alltoall_base(at::Tensor &output, at::Tensor &input, std::vector<int64_t> &output_splits,
                            std::vector<int64_t> &input_splits, const c10d::AllToAllOptions &opts)
{
    const Kind kind = {OpType::ALLTOALL_BASE, "hierax:all_to_all"};
    const auto call = pending(kind);

    check_like(call->name, check(call->name, input), check(call->name, output));
    const auto how = std::make_shared<Exchange>(Exchange{blocks_of(call->name, input, input_splits, getSize()),
                                                         blocks_of(call->name, output, output_splits, getSize())});
    const Buffer in = reads(*call, input), out = writes_apart(*call, output, input);
    if (input_splits.empty() && output_splits.empty()) {
        TORCH_CHECK(input.numel() == output.numel(), "hierax: ", call->name, ": the input has ", input.numel(),
                    " elements, the output ", output.numel());
        call->start(hx_alltoall, hx_ialltoall, in.data, out.data, how->in.counts[0], type_to_move(input), group_.comm);
    } else {
        start(*call, in, out, how, type_to_move(input), group_.comm);
    }
    return made(kind, call, opts.timeout, {input}, {output});
}

Work Backend::alltoall(Tensors &outputs, Tensors &inputs, const c10d::AllToAllOptions &opts)
{
    const Kind kind = {OpType::ALLTOALL, "hierax:all_to_all"};
    const auto call = pending(kind);
    const size_t size = getSize();

    TORCH_CHECK(inputs.size() == size && outputs.size() == size, "hierax: ", call->name, ": ", inputs.size(), " inputs and ",
                outputs.size(), " outputs for ", size, " ranks");
    for (size_t i = 0; i < size; i++) {
        check_like(call->name, inputs[0], check(call->name, inputs[i]));
        check_like(call->name, inputs[0], check(call->name, outputs[i]));
    }
    const auto how = std::make_shared<Exchange>(Exchange{blocks_of(inputs), blocks_of(outputs)});
    const Buffer in = reads_all(*call, inputs), out = writes_all(*call, outputs);
    start(*call, in, out, how, type_to_move(inputs[0]), group_.comm);
    return made(kind, call, opts.timeout, inputs, outputs);
}

} // namespace hierax
