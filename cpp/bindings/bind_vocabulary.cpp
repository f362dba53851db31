#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include "bindings/arguments.h"
#include "core/errors.h"
#include "core/text_cost.h"
#include "core/vocabulary.h"

namespace nb = nanobind;

namespace {

std::vector<std::optional<std::string>> to_tokens(const nb::sequence& items) {
  std::vector<std::optional<std::string>> tokens;
  tokens.reserve(nb::len(items));
  for (const nb::handle item : items) {
    if (item.is_none()) {
      tokens.emplace_back();
      continue;
    }
    if (!nb::isinstance<nb::bytes>(item)) {
      throw gd::VocabularyError("token " + std::to_string(tokens.size()) + " is not bytes or None");
    }
    const nb::bytes text = nb::borrow<nb::bytes>(item);
    tokens.emplace_back(std::in_place, text.c_str(), text.size());
  }
  return tokens;
}

}  // namespace

void bind_vocabulary(nb::module_& m) {
  nb::class_<gd::Vocabulary>(m, "Vocabulary", "A vocabulary, indexed as a prefix trie. Immutable; shared between threads.")
      .def(
          "__init__",
          [](gd::Vocabulary* self, const nb::sequence& token_bytes, const nb::list& stop_token_ids, uint32_t size) {
            std::vector<std::optional<std::string>> tokens = to_tokens(token_bytes);
            auto stops = items_of<gd::TokenId>(stop_token_ids, "a token id");
            const nb::gil_scoped_release release;
            new (self) gd::Vocabulary(std::move(tokens), std::move(stops), size);
          },
          nb::arg("token_bytes"), nb::arg("stop_token_ids"), nb::arg("size"))
      .def_prop_ro("size", &gd::Vocabulary::size)
      .def(
          "has_longer_token",
          [](const gd::Vocabulary& self, const nb::bytes& text) {
            const gd::Trie& trie = self.trie();
            const uint32_t node = trie.find({text.c_str(), text.size()});
            return node != trie.size() && trie.end(node) > node + 1;
          },
          nb::arg("text"), "Whether a token begins with the text and goes on.")
      .def(
          "fewest_tokens",
          [](const gd::Vocabulary& self, const nb::bytes& text) {
            std::vector<gd::TokenId> ids;
            if (!gd::fewest_tokens(self.trie(), {text.c_str(), text.size()}, ids)) return nb::object(nb::none());
            return nb::object(nb::cast(ids));
          },
          nb::arg("text"), "The fewest tokens that spell the text; None if none do.")
      .def("memory_bytes", &gd::Vocabulary::memory_bytes)
      .def("table_memory_bytes", &gd::Vocabulary::table_memory_bytes)
      .def("set_table_limit", &gd::Vocabulary::set_table_limit, nb::arg("bytes"))
      .def("clear_tables", &gd::Vocabulary::clear_tables);
}
