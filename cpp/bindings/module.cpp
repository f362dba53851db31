// The extension module grammar_decode._core: one file for each subject; this one registers them and maps errors.
#include <nanobind/nanobind.h>

#include "core/errors.h"

namespace nb = nanobind;

void bind_bitmask(nb::module_& m);
void bind_vocabulary(nb::module_& m);
void bind_grammar(nb::module_& m);
void bind_everyday(nb::module_& m);
void bind_matcher(nb::module_& m);

namespace {

void raise(const char* class_name, const char* message) {
  const nb::object type = nb::module_::import_("grammar_decode.errors").attr(class_name);
  PyErr_SetString(type.ptr(), message);
}

void translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const gd::SerializationError& e) {
    raise("SerializationError", e.what());
  } catch (const gd::VocabularyError& e) {
    raise("VocabularyError", e.what());
  } catch (const gd::MatcherError& e) {
    raise("MatcherError", e.what());
  } catch (const gd::BitmaskError& e) {
    raise("BitmaskError", e.what());
  } catch (const gd::UnsatisfiableError& e) {
    raise("UnsatisfiableSchema", e.what());
  } catch (const gd::LimitError& e) {
    const nb::object type = nb::module_::import_("grammar_decode.errors").attr("SchemaTooComplex");
    nb::object error = type(nb::str(e.what()), nb::arg("limit") = nb::str(e.limit.c_str()));
    if (e.node) error.attr("node") = *e.node;
    PyErr_SetObject(type.ptr(), error.ptr());
  }
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "The native kernel of grammar-decode: automata, masks and matching over bytes.";
  nb::register_exception_translator(translate);
  bind_bitmask(m);
  bind_vocabulary(m);
  bind_grammar(m);
  bind_everyday(m);
  bind_matcher(m);
}
