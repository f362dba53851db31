#include <nanobind/nanobind.h>

#include "core/compiled_grammar.h"

namespace nb = nanobind;

void bind_grammar(nb::module_& m) {
  nb::class_<gd::CompiledGrammar>(m, "Grammar", "A grammar read from its byte format, and its engines. Thread-safe.")
      .def(
          "__init__",
          [](gd::CompiledGrammar* self, const nb::bytes& data, uint32_t max_states) {
            new (self) gd::CompiledGrammar(std::string_view(data.c_str(), data.size()), max_states);
          },
          nb::arg("data"), nb::arg("max_states") = 500000)
      .def("is_empty", &gd::CompiledGrammar::is_empty, nb::call_guard<nb::gil_scoped_release>(),
           "Whether no document is in the language.")
      .def("memory_bytes", &gd::CompiledGrammar::memory_bytes, nb::call_guard<nb::gil_scoped_release>(),
           "Bytes of what was made for masks so far, for all vocabularies.");
}
