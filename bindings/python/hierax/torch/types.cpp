// SPDX-License-Identifier: BSD-3-Clause
#include "types.h"

namespace hierax
{

hx_dtype_t type_to_move(const at::Tensor &tensor)
{
    switch (tensor.element_size()) {
    case 1:
        return HX_UINT8;
    case 2:
        return HX_UINT16;
    case 4:
        return HX_UINT32;
    case 8:
        return HX_UINT64;
    case 16:
        return HX_COMPLEX128;
    default:
        TORCH_CHECK(false, "hierax: elements of ", tensor.scalar_type(), " have ", tensor.element_size(),
                    " bytes; Hierax moves elements of 1, 2, 4, 8 or 16 bytes");
    }
}

static hx_dtype_t type_to_reduce(const char *call, at::ScalarType type)
{
    switch (type) {
    case at::kByte:
    case at::kBool:
        return HX_UINT8;
    case at::kChar:
        return HX_INT8;
    case at::kShort:
        return HX_INT16;
    case at::kInt:
        return HX_INT32;
    case at::kLong:
        return HX_INT64;
    case at::kUInt16:
        return HX_UINT16;
    case at::kUInt32:
        return HX_UINT32;
    case at::kUInt64:
        return HX_UINT64;
    case at::kHalf:
        return HX_FLOAT16;
    case at::kBFloat16:
        return HX_BFLOAT16;
    case at::kFloat:
        return HX_FLOAT32;
    case at::kDouble:
        return HX_FLOAT64;
    case at::kComplexFloat:
        return HX_COMPLEX64;
    case at::kComplexDouble:
        return HX_COMPLEX128;
    default:
        TORCH_CHECK(false, "hierax: ", call, " cannot reduce ", type,
                    ". It reduces bool, integers of 8 to 64 bits, float16, bfloat16, ",
                    "float32, float64, complex64 and complex128");
    }
}

static hx_op_t op_on_bool(const char *call, c10d::ReduceOp::RedOpType op)
{
    switch (op) {
    case c10d::ReduceOp::SUM:
    case c10d::ReduceOp::MAX:
    case c10d::ReduceOp::BOR:
        return HX_LOR;
    case c10d::ReduceOp::PRODUCT:
    case c10d::ReduceOp::MIN:
    case c10d::ReduceOp::BAND:
        return HX_LAND;
    case c10d::ReduceOp::BXOR:
        return HX_LXOR;
    default:
        TORCH_CHECK(false, "hierax: ", call,
                    " of bool has no AVG or PREMUL_SUM. Choose SUM, PRODUCT, MIN, MAX, BAND, BOR or BXOR");
    }
}

static hx_op_t op_on_numbers(const char *call, at::ScalarType type, c10d::ReduceOp::RedOpType op)
{
    const bool whole = c10::isIntegralType(type, false);

    switch (op) {
    case c10d::ReduceOp::SUM:
        return HX_SUM;
    case c10d::ReduceOp::PRODUCT:
        return HX_PROD;
    case c10d::ReduceOp::AVG:
        TORCH_CHECK(!whole, "hierax: ", call, ": AVG of ", type, " is not defined. Choose SUM and divide, or a floating type");
        return HX_AVG;
    case c10d::ReduceOp::MIN:
    case c10d::ReduceOp::MAX:
        TORCH_CHECK(!c10::isComplexType(type), "hierax: ", call, ": ", type, " has no MIN and MAX. Choose SUM, PRODUCT or AVG");
        return op == c10d::ReduceOp::MIN ? HX_MIN : HX_MAX;
    case c10d::ReduceOp::BAND:
    case c10d::ReduceOp::BOR:
    case c10d::ReduceOp::BXOR:
        TORCH_CHECK(whole, "hierax: ", call, ": Cannot use ReduceOp.",
                    op == c10d::ReduceOp::BAND  ? "BAND"
                    : op == c10d::ReduceOp::BOR ? "BOR"
                                                : "BXOR",
                    " with non-integral dtype ", type, ". Choose SUM, PRODUCT, MIN, MAX or AVG");
        return op == c10d::ReduceOp::BAND ? HX_BAND : op == c10d::ReduceOp::BOR ? HX_BOR : HX_BXOR;
    default:
        TORCH_CHECK(false, "hierax: ", call, " has no PREMUL_SUM. Choose SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR or BXOR");
    }
}

Reduction reduction_of(const char *call, const at::Tensor &tensor, const c10d::ReduceOp &op)
{
    const at::ScalarType type = tensor.scalar_type();

    return {type_to_reduce(call, type), type == at::kBool ? op_on_bool(call, op) : op_on_numbers(call, type, op)};
}

} // namespace hierax
