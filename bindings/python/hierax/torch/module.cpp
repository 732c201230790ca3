// SPDX-License-Identifier: BSD-3-Clause
// The Python module hierax.torch._backend.
#include "backend.h"
#include "completer.h"
#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>

template <typename T> using Pointer = c10::intrusive_ptr<T>;

// Python knows whether an exception ends the group.
void hierax::Backend::shutdown()
{
    const pybind11::gil_scoped_acquire locked;

    pybind11::module_::import("hierax.torch").attr("_shutdown")(name_);
}

PYBIND11_MODULE(_backend, module)
{
    namespace py = pybind11;
    using Released = py::call_guard<py::gil_scoped_release>;

    py::module_::import("torch._C._distributed_c10d");
    py::class_<hierax::Backend, c10d::Backend, Pointer<hierax::Backend>>(module, "Backend")
        .def(py::init<const Pointer<c10d::Store> &, int, int, const std::vector<int64_t> &, std::chrono::milliseconds, std::string>(),
             py::arg("store"), py::arg("rank"), py::arg("size"), py::arg("members"), py::arg("timeout"), py::arg("name"), Released())
        .def("leave", &hierax::Backend::leave, py::arg("orderly"), Released())
        .def("abort", &hierax::Backend::abort, Released())
        .def("_set_default_timeout", &hierax::Backend::setTimeout, py::arg("timeout"), Released())
        .def("set_wire", &hierax::Backend::setWire, py::arg("format"), Released())
        .def("memory", &hierax::Backend::memory, py::arg("nbytes"), Released());
    module.def("stop", hierax::completer_stop, Released());
}
