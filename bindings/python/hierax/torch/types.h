// SPDX-License-Identifier: BSD-3-Clause
// The datatypes and operations of PyTorch in those of Hierax.
#pragma once
#include <ATen/ATen.h>
#include <hierax.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

namespace hierax
{

// The type that moves elements of this one as they are, of any type with 1, 2, 4, 8 or 16 bytes.
hx_dtype_t type_to_move(const at::Tensor &tensor);

struct Reduction {
    hx_dtype_t type;
    hx_op_t op;
};

// How `call` reduces these elements. Throws if Hierax does not have the type or the operation; the text names both and the
// choices. bool: a sum and a maximum are a logical or, a product and a minimum a logical and.
Reduction reduction_of(const char *call, const at::Tensor &tensor, const c10d::ReduceOp &op);

} // namespace hierax
