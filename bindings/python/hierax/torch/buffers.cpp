// SPDX-License-Identifier: BSD-3-Clause
#include "buffers.h"

namespace hierax
{

const at::Tensor &check(const char *call, const at::Tensor &tensor)
{
    TORCH_CHECK(tensor.layout() == at::kStrided, "hierax: ", call, ": the tensor is sparse (", tensor.layout(),
                "); Hierax takes sparse tensors only in all_reduce. Call to_dense()");
    TORCH_CHECK(tensor.device().is_cpu(), "hierax: ", call, ": the tensor is on ", tensor.device(),
                "; Hierax moves CPU tensors only");
    return tensor;
}

const at::Tensor &check_one(const char *call, const std::vector<at::Tensor> &tensors)
{
    TORCH_CHECK(tensors.size() == 1, "hierax: ", call, ": expected one tensor, got ", tensors.size());
    return check(call, tensors[0]);
}

void check_like(const char *call, const at::Tensor &one, const at::Tensor &other)
{
    TORCH_CHECK(one.scalar_type() == other.scalar_type(), "hierax: ", call,
                ": input tensors and output tensors must have the same type, got ", one.scalar_type(), " and ",
                other.scalar_type());
}

bool overlap(const at::Tensor &one, const at::Tensor &other)
{
    const char *a = static_cast<const char *>(one.const_data_ptr()), *b = static_cast<const char *>(other.const_data_ptr());

    return one.storage().is_alias_of(other.storage()) && a < b + other.nbytes() && b < a + one.nbytes();
}

static Buffer keep(Pending &pending, const at::Tensor &tensor)
{
    pending.keep(tensor);
    return {tensor.data_ptr(), static_cast<size_t>(tensor.numel())};
}

Buffer reads(Pending &pending, const at::Tensor &tensor)
{
    return keep(pending, tensor.is_contiguous() ? tensor : tensor.contiguous());
}

static Buffer elsewhere(Pending &pending, const at::Tensor &tensor, const at::Tensor &copy)
{
    pending.after([tensor, copy] { tensor.copy_(copy); });
    return keep(pending, copy);
}

Buffer writes(Pending &pending, const at::Tensor &tensor)
{
    return tensor.is_contiguous()
               ? keep(pending, tensor)
               : elsewhere(pending, tensor, at::empty(tensor.sizes(), tensor.options().requires_grad(false)));
}

Buffer changes(Pending &pending, const at::Tensor &tensor)
{
    return tensor.is_contiguous() ? keep(pending, tensor) : elsewhere(pending, tensor, tensor.detach().contiguous());
}

Buffer writes_apart(Pending &pending, const at::Tensor &tensor, const at::Tensor &input)
{
    if (!overlap(tensor, input))
        return writes(pending, tensor);
    return elsewhere(pending, tensor, at::empty(tensor.sizes(), tensor.options().requires_grad(false)));
}

// Do they follow one another in one storage, outside `apart`?
static bool in_a_row(const std::vector<at::Tensor> &tensors, const at::Tensor *apart)
{
    for (size_t i = 0; i < tensors.size(); i++) {
        if (!tensors[i].is_contiguous() || !tensors[i].storage().is_alias_of(tensors[0].storage()))
            return false;
        if (apart && overlap(tensors[i], *apart))
            return false;
        if (i && tensors[i - 1].storage_offset() + tensors[i - 1].numel() != tensors[i].storage_offset())
            return false;
    }
    return !tensors.empty();
}

static size_t count_of(const std::vector<at::Tensor> &tensors)
{
    size_t count = 0;

    for (const at::Tensor &tensor : tensors)
        count += tensor.numel();
    return count;
}

static Buffer keep_row(Pending &pending, const std::vector<at::Tensor> &tensors)
{
    return {keep(pending, tensors[0]).data, count_of(tensors)};
}

static at::Tensor joined(const std::vector<at::Tensor> &tensors)
{
    std::vector<at::Tensor> flat;

    for (const at::Tensor &tensor : tensors)
        flat.push_back(tensor.detach().reshape({-1}));
    return at::cat(flat);
}

static void parted(const at::Tensor &copy, const std::vector<at::Tensor> &tensors)
{
    int64_t at = 0;

    for (const at::Tensor &tensor : tensors) {
        tensor.copy_(copy.narrow(0, at, tensor.numel()).view(tensor.sizes()));
        at += tensor.numel();
    }
}

Buffer reads_all(Pending &pending, const std::vector<at::Tensor> &tensors, const at::Tensor *apart)
{
    return in_a_row(tensors, apart) ? keep_row(pending, tensors) : keep(pending, joined(tensors));
}

static Buffer all_elsewhere(Pending &pending, const std::vector<at::Tensor> &tensors, const at::Tensor &copy)
{
    pending.after([tensors, copy] { parted(copy, tensors); });
    return keep(pending, copy);
}

Buffer writes_all(Pending &pending, const std::vector<at::Tensor> &tensors, const at::Tensor *apart)
{
    if (in_a_row(tensors, apart))
        return keep_row(pending, tensors);
    return all_elsewhere(pending, tensors,
                         at::empty({static_cast<int64_t>(count_of(tensors))}, tensors[0].options().requires_grad(false)));
}

} // namespace hierax
