// Everyday schemas (everyday.h), as src/grammar_decode/everyday.py sees them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <cstring>
#include <optional>

#include "bindings/everyday.h"
#include "bindings/everyday_reader.h"
#include "bindings/everyday_source.h"
#include "bindings/everyday_writer.h"

namespace nb = nanobind;

namespace {

using gd::NodeId;
using gd::RegexId;
using gd::everyday::Closure;
using gd::everyday::encoded_regexes;
using gd::everyday::kNever;
using gd::everyday::kNoNode;
using gd::everyday::Literal;
using gd::everyday::NotEveryday;
using gd::everyday::Reader;
using gd::everyday::Setting;
using gd::everyday::Writer;

class Document {
 public:
  Document(Setting& setting, const nb::dict& keywords, const nb::str& id_keyword, bool hides_siblings, const nb::object& root)
      : reader_(setting, keywords, id_keyword, hides_siblings, root), closure_(reader_), writer_(setting, reader_) {}
  Document(const Document&) = delete;  // its parts refer to one another
  Document& operator=(const Document&) = delete;

  // The whole document; nothing if it is no everyday one.
  std::optional<nb::bytes> compile() {
    writer_.forget();
    try {
      const NodeId root = writer_.write(reader_.document());
      if (root != kNoNode) return writer_.encoded(root);
    } catch (const NotEveryday&) {
    }
    writer_.forget();
    return std::nullopt;
  }

  // The node of a schema of the document; nothing if it, or a schema that it leads to, is no everyday one, kNoNode if no value
  // satisfies it. `depth`: how many schemas it stands in. Throws NotEveryday where that was seen too late, and what was made is of no use.
  std::optional<NodeId> part(const nb::object& schema, uint32_t depth) {
    Literal literal = kNever;
    try {
      literal = reader_.schema(schema, depth);
    } catch (const NotEveryday&) {
      return std::nullopt;
    }
    if (!closure_.has(literal)) return std::nullopt;
    return writer_.write(literal);
  }

  // What was made, to stand behind other expressions and nodes.
  const Writer& parts() const { return writer_; }

 private:
  Reader reader_;
  Closure closure_;
  Writer writer_;
};

class Everyday {
 public:
  Everyday(const nb::object& beginning, const nb::bytes& spacing, const nb::bytes& spacing_blob, const nb::dict& seeds,
           bool texts_are_literal, const nb::dict& types, const nb::dict& formats, const nb::object& scalar, uint32_t max_nodes,
           uint32_t max_nesting, uint32_t max_alternatives, uint32_t max_enum) {
    setting_.beginning = encoded_regexes(beginning);
    setting_.seed = gd::RegexTable(setting_.beginning);
    setting_.spacing.resize(spacing.size() / sizeof(uint32_t));
    std::memcpy(setting_.spacing.data(), spacing.c_str(), setting_.spacing.size() * sizeof(uint32_t));
    setting_.spacing_blob.assign(spacing_blob.c_str(), spacing_blob.size());
    setting_.empty = nb::cast<RegexId>(seeds["empty"]);
    setting_.null = nb::cast<RegexId>(seeds["null"]);
    setting_.booleans = nb::cast<RegexId>(seeds["booleans"]);
    setting_.numbers = nb::cast<RegexId>(seeds["numbers"]);
    setting_.integers = nb::cast<RegexId>(seeds["integers"]);
    setting_.strings = nb::cast<RegexId>(seeds["strings"]);
    setting_.quote = nb::cast<RegexId>(seeds["quote"]);
    setting_.every_key = nb::cast<RegexId>(seeds["every_key"]);
    setting_.texts_are_literal = texts_are_literal;
    setting_.types = types;
    setting_.formats = formats;
    setting_.scalar = scalar;
    setting_.max_nodes = max_nodes;
    setting_.max_nesting = max_nesting;
    setting_.max_alternatives = max_alternatives;
    setting_.max_enum = max_enum;
  }

  Setting& setting() { return setting_; }

 private:
  Setting setting_;
};

}  // namespace

void bind_everyday(nb::module_& m) {
  nb::class_<Everyday>(m, "Everyday", "Everyday schemas to the byte format of the IR, for one set of options.")
      .def(nb::init<const nb::object&, const nb::bytes&, const nb::bytes&, const nb::dict&, bool, const nb::dict&, const nb::dict&,
                    const nb::object&, uint32_t, uint32_t, uint32_t, uint32_t>(),
           nb::arg("beginning"), nb::arg("spacing"), nb::arg("spacing_blob"), nb::arg("seeds"), nb::arg("texts_are_literal"),
           nb::arg("types"), nb::arg("formats"), nb::arg("scalar"), nb::arg("max_nodes"), nb::arg("max_nesting"),
           nb::arg("max_alternatives"), nb::arg("max_enum"));
  nb::class_<Document>(m, "EverydayDocument", "One document, of which all or some schemas are everyday ones. Not thread-safe.")
      .def(
          "__init__",
          [](Document* self, Everyday& options, const nb::object& schema, const nb::dict& keywords, const nb::str& id_keyword,
             bool hides_siblings) { new (self) Document(options.setting(), keywords, id_keyword, hides_siblings, schema); },
          nb::arg("options"), nb::arg("schema"), nb::arg("keywords"), nb::arg("id_keyword"), nb::arg("hides_siblings"),
          nb::keep_alive<1, 2>())
      .def("compile", &Document::compile, "The grammar of the whole document, or None if it is no everyday one.")
      .def(
          "part",
          [](Document& self, const nb::object& schema, uint32_t depth) -> int64_t {
            try {
              const std::optional<NodeId> node = self.part(schema, depth);
              return !node ? -1 : *node == kNoNode ? -2 : int64_t{*node};
            } catch (const NotEveryday&) {
              return -3;
            }
          },
          nb::arg("schema"), nb::arg("depth"),
          "The node of a schema of the document; -1 if it, or one that it leads to, is no everyday one, -2 if no value satisfies "
          "it, -3 if all parts have become useless.")
      .def(
          "appended",
          [](const Document& self, uint32_t first_regex, NodeId first_node) {
            return self.parts().appended(first_regex, first_node);
          },
          nb::arg("first_regex"), nb::arg("first_node"),
          "The parts, to stand behind so many expressions and nodes: (expressions, words, blob, nodes, words, blob).")
      .def(
          "schemas_of_nodes", [](const Document& self, bool first) { return self.parts().schemas_of_nodes(first); },
          nb::arg("first"),
          "By node of the parts: the schema that an object or array was made of, or the first that reads a node; or None.");
}
