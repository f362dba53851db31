#include <nanobind/nanobind.h>

#include "core/compiled_grammar.h"

namespace nb = nanobind;

void bind_grammar(nb::module_& m) {
  const gd::Limits defaults;
  nb::class_<gd::CompiledGrammar>(m, "Grammar", "A grammar read from its byte format, and its engines. Thread-safe.")
      .def(
          "__init__",
          [](gd::CompiledGrammar* self, const nb::bytes& data, uint32_t max_states, size_t max_picks, size_t max_search,
             size_t max_threads, uint32_t max_document_depth, size_t max_memory_bytes, double max_compile_seconds,
             double max_mask_seconds) {
            const gd::Limits limits{max_states,         max_picks,        max_search,          max_threads,
                                    max_document_depth, max_memory_bytes, max_compile_seconds, max_mask_seconds};
            const std::string_view text(data.c_str(), data.size());
            const nb::gil_scoped_release release;  // `data` is held by the caller, and immutable
            new (self) gd::CompiledGrammar(text, limits);
          },
          nb::arg("data"), nb::arg("max_states") = defaults.max_states, nb::arg("max_picks") = defaults.max_picks,
          nb::arg("max_search") = defaults.max_search, nb::arg("max_threads") = defaults.max_threads,
          nb::arg("max_document_depth") = defaults.max_document_depth, nb::arg("max_memory_bytes") = defaults.max_memory_bytes,
          nb::arg("max_compile_seconds") = defaults.max_compile_seconds, nb::arg("max_mask_seconds") = defaults.max_mask_seconds)
      .def("is_empty", &gd::CompiledGrammar::is_empty, nb::arg("seconds") = defaults.max_compile_seconds,
           nb::call_guard<nb::gil_scoped_release>(),
           "Whether no document is in the language. `seconds`: what is left of the time to compile.")
      .def("memory_bytes", &gd::CompiledGrammar::memory_bytes, nb::call_guard<nb::gil_scoped_release>(),
           "Bytes of what was made for masks so far, for all vocabularies.");
}
