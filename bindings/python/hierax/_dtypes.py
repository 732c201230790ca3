# SPDX-License-Identifier: BSD-3-Clause
"""Element types of arrays that the extension module does not know at a glance, and new arrays. The extension module calls these."""
import array
import math
import operator
import sys

from . import _native

_PAIRS = {("f4", "i4"): (_native.FLOAT32_INDEX, 8, 4), ("f8", "i4"): (_native.FLOAT64_INDEX, 16, 8),
          ("i4", "i4"): (_native.INT32_INDEX, 8, 4), ("i8", "i4"): (_native.INT64_INDEX, 16, 8)}
_CODES = {"bool": _native._BOOL, "bfloat16": _native.BFLOAT16, "complex64": _native.COMPLEX64, "complex128": _native.COMPLEX128,
          **{name: getattr(_native, name.upper()) for name in
             ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")}}
_FORMATS = {_native.INT8: "b", _native.INT16: "h", _native.INT32: "i", _native.INT64: "q", _native.UINT8: "B", _native.UINT16: "H",
            _native.UINT32: "I", _native.UINT64: "Q", _native.FLOAT32: "f", _native.FLOAT64: "d", _native.BYTE: "B",
            _native.BFLOAT16: "H", _native.FLOAT16: "e"}
_NAMES = {code: name for name, code in _CODES.items()} | {_native.BYTE: "uint8"}


def pair(value):
    """The dtype of numpy for MINLOC and MAXLOC: a record of `value` (float32, float64, int32 or int64) and a 32-bit index."""
    import numpy
    dtype = numpy.dtype([("value", value), ("index", "i4")], align=True)
    if of_pair(dtype) is None:
        raise TypeError(f"a pair of {value}: expected float32, float64, int32 or int64")
    return dtype


def of_pair(dtype):
    """The type of Hierax for a record of two fields with exactly its layout, else None."""
    if not dtype.names or len(dtype.names) != 2:
        return None
    (first, at_first), (second, at_second) = (dtype.fields[name][:2] for name in dtype.names)
    if first.shape or second.shape or not (first.isnative and second.isnative):
        return None
    code, item_bytes, at = _PAIRS.get((first.str[1:], second.str[1:]), (None, 0, 0))
    return code if (dtype.itemsize, at_first, at_second) == (item_bytes, 0, at) else None


def of_dtype(dtype):
    """The type of Hierax for a dtype of numpy, else None."""
    if dtype.hasobject:
        raise TypeError(f"elements of dtype {dtype} are Python objects, which cannot be sent")
    if dtype.names:
        return of_pair(dtype)
    return _CODES.get(dtype.name) if dtype.isnative else None


def of_numpy(x):
    """(type, bytes of an element) of an array whose dtype is not a plain one, or of a subclass of ndarray."""
    masked = sys.modules.get("numpy.ma")
    if masked and isinstance(x, masked.MaskedArray):
        raise TypeError("masked arrays are refused, because their masks would be lost: pass array.filled(value) or array.data")
    code = of_dtype(x.dtype)
    return _native._OTHER if code is None else code, x.dtype.itemsize


def code_of(dtype):
    """The type of Hierax for one of its constants, the name of a type, or a dtype of numpy."""
    if dtype in _CODES:
        return _CODES[dtype]
    if isinstance(dtype, int):
        return dtype  # Hierax checks it
    numpy = sys.modules.get("numpy")
    try:
        code = of_dtype(numpy.dtype(dtype)) if numpy else None
    except TypeError:
        code = None
    if code is None:
        raise TypeError(f"dtype is {dtype!r}: expected one of {' '.join(_CODES)}, a dtype of numpy, or a constant as hierax.FLOAT32")
    return code


def new_like(x, shape):
    """An array of this shape, of the type of x: an array of `array`, a tensor, a bytearray, else a memoryview."""
    numpy = sys.modules.get("numpy")
    if numpy and isinstance(x, numpy.generic):  # an element of an array
        return numpy.empty(shape, x.dtype)
    if isinstance(x, array.array):
        return array.array(x.typecode, bytes(math.prod(shape) * x.itemsize))
    if isinstance(x, (bytes, bytearray)):
        return bytearray(math.prod(shape))
    if hasattr(x, "new_empty"):  # PyTorch
        return x.new_empty(shape)
    if hasattr(x, "__dlpack__"):
        if numpy:
            return numpy.empty(shape, numpy.from_dlpack(x).dtype)
        raise TypeError(f"a new result like {type(x).__name__} needs numpy: pass out")
    view = memoryview(x)
    code = view.format.lstrip("@=<")
    if len(code) != 1 or code not in "?bBhHiIlLqQnNefdc":  # a memoryview cannot have other elements
        raise TypeError(f"a new result like {type(x).__name__} is not possible for elements of format {view.format}: pass out")
    flat = memoryview(bytearray(math.prod(shape) * view.itemsize))
    return flat.cast(code, shape) if 0 not in shape else flat.cast(code)


def view(buffer, code):
    """Elements of a type of Hierax in this memory: an array of numpy if the program uses numpy, else a memoryview."""
    numpy = sys.modules.get("numpy")
    if not numpy:
        return memoryview(buffer).cast("c").cast(_FORMATS.get(code, "B"))
    if code == _native.BFLOAT16:
        types = sys.modules.get("ml_dtypes")
        return numpy.frombuffer(buffer, types.bfloat16 if types else numpy.uint16)
    for (value, index), (number, _, _) in _PAIRS.items():
        if number == code:
            return numpy.frombuffer(buffer, pair(value))
    return numpy.frombuffer(buffer, _NAMES[code])


def empty(comm, shape, dtype="d"):
    """The array of Comm.empty()."""
    shape = tuple(map(operator.index, shape if hasattr(shape, "__iter__") else (shape,)))
    if min(shape, default=0) < 0:
        raise ValueError(f"shape {shape}: expected lengths of 0 or more")
    dtype = _NAMES.get(dtype, dtype) if isinstance(dtype, int) else dtype
    try:
        import numpy
    except ImportError:
        dtype = _FORMATS.get(_CODES.get(dtype), dtype)
        item_bytes = array.array(dtype).itemsize
        memory = memoryview(comm.alloc(math.prod(shape) * item_bytes))
        return memory.cast(dtype, shape)
    dtype = numpy.dtype(dtype)
    if dtype.hasobject:
        raise TypeError(f"elements of dtype {dtype} are Python objects, which cannot be in shared memory")
    return numpy.ndarray(shape, dtype, comm.alloc(math.prod(shape) * dtype.itemsize))
