// SPDX-License-Identifier: BSD-3-Clause
// Messages between two ranks.
#include "backend.h"
#include "buffers.h"
#include "types.h"

namespace hierax
{

using c10d::OpType;

Work Backend::send(Tensors &tensors, int dest, int tag)
{
    const Kind kind = {OpType::SEND, "hierax:send"};
    const auto call = pending(kind);
    const at::Tensor &tensor = check_one(call->name, tensors);
    const Buffer buffer = reads(*call, tensor);

    call->start_apart(hx_isend, buffer.data, buffer.count, type_to_move(tensor), dest, tag, group_.comm);
    return made(kind, call, c10d::kUnsetTimeout, tensors, tensors);
}

Work Backend::recv(Tensors &tensors, int source, int tag)
{
    const Kind kind = {OpType::RECV, "hierax:recv"};
    const auto call = pending(kind);
    const at::Tensor &tensor = check_one(call->name, tensors);
    const Buffer buffer = writes(*call, tensor);

    call->source = source;
    call->start_apart(hx_irecv, buffer.data, buffer.count, type_to_move(tensor), source, tag, group_.comm);
    return made(kind, call, c10d::kUnsetTimeout, tensors, tensors);
}

// Hierax has no wildcard: look at each rank in turn until there is a message, then receive that one.
Work Backend::recvAnysource(Tensors &tensors, int tag)
{
    const Kind kind = {OpType::RECVANYSOURCE, "hierax:recvAnySource"};
    const auto call = pending(kind);
    const at::Tensor tensor = check_one(call->name, tensors);
    const Buffer buffer = writes(*call, tensor);

    TORCH_CHECK(!call->gathers(), "hierax: ", call->name,
                ": a receive from any source cannot be coalesced. Make the call after endCoalescing, or name the source");
    call->first([call = call.get(), buffer, type = type_to_move(tensor), tag, comm = group_.comm, size = getSize()] {
        for (int source = 0; source < size; source++) {
            int found = 0;
            const hx_status_t status = hx_iprobe(source, tag, comm, &found, nullptr);
            if (status != HX_SUCCESS)
                fail(call->name, status, comm);
            if (!found)
                continue;
            call->source = source;
            call->start_apart(hx_irecv, buffer.data, buffer.count, type, source, tag, comm);
            return true;
        }
        return false;
    });
    return made(kind, call, c10d::kUnsetTimeout, tensors, tensors);
}

} // namespace hierax
