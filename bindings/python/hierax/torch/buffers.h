// SPDX-License-Identifier: BSD-3-Clause
// Tensors as the contiguous memory that Hierax wants: their own memory if it is, else a copy.
#pragma once
#include "pending.h"

namespace hierax
{

struct Buffer {
    void *data;
    size_t count; // elements
};

// Throws unless the tensor is dense, on the CPU, and the only one of its list.
const at::Tensor &check(const char *call, const at::Tensor &tensor);
const at::Tensor &check_one(const char *call, const std::vector<at::Tensor> &tensors);
void check_like(const char *call, const at::Tensor &one, const at::Tensor &other);
bool overlap(const at::Tensor &one, const at::Tensor &other);

// The pending call reads, writes, or changes the tensor.
Buffer reads(Pending &pending, const at::Tensor &tensor);
Buffer writes(Pending &pending, const at::Tensor &tensor);
Buffer changes(Pending &pending, const at::Tensor &tensor);
// It writes the tensor, but in other memory if it overlaps input.
Buffer writes_apart(Pending &pending, const at::Tensor &tensor, const at::Tensor &input);

// The same for a list: one tensor after the other, in other memory if one overlaps `apart`.
Buffer reads_all(Pending &pending, const std::vector<at::Tensor> &tensors, const at::Tensor *apart = nullptr);
Buffer writes_all(Pending &pending, const std::vector<at::Tensor> &tensors, const at::Tensor *apart = nullptr);

} // namespace hierax
