// SPDX-License-Identifier: BSD-3-Clause
// All-reduce of sparse tensors: every rank gets the elements of all, and adds those at the same place.
#include "backend.h"
#include "buffers.h"
#include "types.h"

namespace hierax
{

using c10d::OpType;

namespace
{
enum { NNZ, SPARSE_DIMS, DIMS, SIZES, MOST_DIMS = 28, SHAPE = SIZES + MOST_DIMS }; // what a rank tells of its tensor

struct Parts {
    std::vector<size_t> counts, displs;
};
} // namespace

static at::Tensor shape_of(const char *call, const at::Tensor &tensor)
{
    at::Tensor shape = at::zeros({SHAPE}, at::kLong);
    int64_t *const values = shape.mutable_data_ptr<int64_t>();

    TORCH_CHECK(tensor.dim() <= MOST_DIMS, "hierax: ", call, ": the sparse tensor has ", tensor.dim(), " dimensions; at most ",
                static_cast<int>(MOST_DIMS), " are possible");
    values[NNZ] = tensor._nnz();
    values[SPARSE_DIMS] = tensor.sparse_dim();
    values[DIMS] = tensor.dim();
    std::copy(tensor.sizes().begin(), tensor.sizes().end(), values + SIZES);
    return shape;
}

static void check_shapes(const char *call, const at::Tensor &shapes, int rank)
{
    for (int64_t r = 0; r < shapes.size(0); r++)
        TORCH_CHECK(shapes[r].narrow(0, 1, SHAPE - 1).equal(shapes[rank].narrow(0, 1, SHAPE - 1)), "hierax: ", call,
                    ": the sparse tensors must have the same shape on all ranks, but ranks ", rank, " and ", r, " differ");
}

// Start an all-gather of `mine`, whose first dimension has a length of its own on each rank.
static at::Tensor rows_gather(Pending &call, const at::Tensor &mine, const at::Tensor &shapes, hx_comm_t *comm)
{
    const int64_t rows = mine.size(0), row = rows ? mine.numel() / rows : c10::multiply_integers(mine.sizes().slice(1));
    const auto parts = std::make_shared<Parts>();
    std::vector<int64_t> sizes = mine.sizes().vec();

    sizes[0] = 0;
    for (int64_t r = 0; r < shapes.size(0); r++) {
        const int64_t of_rank = shapes[r][NNZ].item<int64_t>();
        parts->displs.push_back(sizes[0] * row);
        parts->counts.push_back(of_rank * row);
        sizes[0] += of_rank;
    }
    const at::Tensor all = at::empty(sizes, mine.options());
    const Buffer in = reads(call, mine), out = writes(call, all);
    call.after([parts] {}); // Hierax reads it while the request exists
    call.start(hx_allgatherv, hx_iallgatherv, in.data, in.count, out.data, parts->counts.data(), parts->displs.data(),
               type_to_move(mine), comm);
    return all;
}

// The number of elements differs from rank to rank. So this waits until every rank has made the call and told its own.
Work Backend::allreduce_sparse(Tensors &tensors, const c10d::AllreduceOptions &opts)
{
    const Kind kind = {OpType::ALLREDUCE, "hierax:all_reduce"};
    const auto told = pending(kind), call = pending(kind);
    const char *const name = call->name;

    TORCH_CHECK(tensors.size() == 1, "hierax: ", name, ": expected one tensor, got ", tensors.size());
    const at::Tensor tensor = tensors[0];
    TORCH_CHECK(tensor.layout() == at::kSparse && tensor.device().is_cpu(), "hierax: ", name, ": expected a sparse tensor of the ",
                "layout sparse_coo on the CPU, got ", tensor.layout(), " on ", tensor.device());
    TORCH_CHECK(opts.reduceOp == c10d::ReduceOp::SUM, "hierax: ", name, ": of sparse tensors, Hierax makes only the SUM");
    TORCH_CHECK(!call->gathers(), "hierax: ", name, ": an all-reduce of sparse tensors cannot be coalesced");
    const at::Tensor mine = tensor.detach().coalesce(), shape = shape_of(name, mine);
    const at::Tensor shapes = at::empty({getSize(), SHAPE}, at::kLong);

    told->keep(shape);
    told->keep(shapes);
    told->start(hx_allgather, hx_iallgather, shape.data_ptr(), shapes.data_ptr(), static_cast<size_t>(SHAPE), HX_INT64, group_.comm);
    made(kind, told, opts.timeout, {}, {})->wait(kNoTimeout);
    check_shapes(name, shapes, getRank());

    call->group_begin();
    const at::Tensor indices = rows_gather(*call, mine.indices().t().contiguous(), shapes, group_.comm);
    const at::Tensor values = rows_gather(*call, mine.values(), shapes, group_.comm);
    call->after([tensor, indices, values] {
        tensor.copy_(at::sparse_coo_tensor(indices.t(), values, tensor.sizes(), values.options().layout(at::kSparse)).coalesce());
    });
    call->group_start();
    return made(kind, call, opts.timeout, {}, tensors);
}

} // namespace hierax
