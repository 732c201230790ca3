/* SPDX-License-Identifier: BSD-3-Clause */
/* Element types: their names, sizes and codes in the buffer protocol. */
#include "native.h"

#include <string.h>

static const struct {
    int dtype;
    const char *name;
    size_t bytes, alignment;
} types[] = {
    {HX_INT8, "int8", 1, 1}, {HX_INT16, "int16", 2, 2}, {HX_INT32, "int32", 4, 4}, {HX_INT64, "int64", 8, 8},
    {HX_UINT8, "uint8", 1, 1}, {HX_UINT16, "uint16", 2, 2}, {HX_UINT32, "uint32", 4, 4}, {HX_UINT64, "uint64", 8, 8},
    {HX_FLOAT16, "float16", 2, 2}, {HX_BFLOAT16, "bfloat16", 2, 2}, {HX_FLOAT32, "float32", 4, 4}, {HX_FLOAT64, "float64", 8, 8},
    {HX_COMPLEX64, "complex64", 8, 4}, {HX_COMPLEX128, "complex128", 16, 8}, {HX_BYTE, "byte", 1, 1},
    {HX_FLOAT32_INDEX, "pair of float32 and int32", 8, 4}, {HX_FLOAT64_INDEX, "pair of float64 and int32", 16, 8},
    {HX_INT32_INDEX, "pair of int32 and int32", 8, 4}, {HX_INT64_INDEX, "pair of int64 and int32", 16, 8},
    {HXPY_BOOL, "bool", 1, 1}, {HXPY_OTHER, "a type that Hierax cannot combine", 0, 1},
};

const char *hxpy_dtype_name(int dtype)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].dtype == dtype)
            return types[i].name;
    return "unknown type";
}

size_t hxpy_dtype_bytes(int dtype)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].dtype == dtype)
            return types[i].bytes;
    return 0;
}

size_t hxpy_dtype_alignment(int dtype)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].dtype == dtype)
            return types[i].alignment;
    return 1;
}

static int integer_type(bool has_sign, Py_ssize_t bytes)
{
    switch (bytes) {
    case 1: return has_sign ? HX_INT8 : HX_UINT8;
    case 2: return has_sign ? HX_INT16 : HX_UINT16;
    case 4: return has_sign ? HX_INT32 : HX_UINT32;
    case 8: return has_sign ? HX_INT64 : HX_UINT64;
    default: return HXPY_OTHER;
    }
}

static bool other_byte_order(char first)
{
    const int one = 1;
    bool little = *(const char *)&one == 1;
    return little ? first == '>' || first == '!' : first == '<';
}

/* Has a record a member that is an object of Python? The names of members stand between colons. */
static bool has_objects(const char *format)
{
    for (bool in_name = false; *format; format++) {
        if (*format == ':')
            in_name = !in_name;
        else if (*format == 'O' && !in_name)
            return true;
    }
    return false;
}

int hxpy_dtype_of_format(const char *format, Py_ssize_t item_bytes)
{
    if (!format)
        return HX_UINT8;
    if (has_objects(format)) {
        PyErr_Format(PyExc_TypeError, "elements of format %s are Python objects, which cannot be sent", format);
        return -1;
    }
    if (other_byte_order(format[0]) && item_bytes > 1)
        return HXPY_OTHER;
    if (strchr("@=<>!^|", format[0]) && format[0])
        format++;
    if (strcmp(format, "Zf") == 0)
        return HX_COMPLEX64;
    if (strcmp(format, "Zd") == 0)
        return HX_COMPLEX128;
    if (strlen(format) != 1)
        return HXPY_OTHER;
    switch (format[0]) {
    case '?': return HXPY_BOOL;
    case 'e': return HX_FLOAT16;
    case 'f': return HX_FLOAT32;
    case 'd': return HX_FLOAT64;
    case 'b': case 'h': case 'i': case 'l': case 'q': case 'n': return integer_type(true, item_bytes);
    case 'B': case 'c': case 'H': case 'I': case 'L': case 'Q': case 'N': return integer_type(false, item_bytes);
    default: return HXPY_OTHER;
    }
}
