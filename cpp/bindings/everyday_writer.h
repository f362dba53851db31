// Nodes and expressions of everyday schemas, and their bytes.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "bindings/everyday.h"
#include "bindings/everyday_reader.h"
#include "bindings/everyday_source.h"
#include "core/grammar.h"
#include "core/regex_table.h"

namespace gd::everyday {

constexpr NodeId kNoNode = 0xFFFFFFFF;

// Expressions that Python encoded (`Beginning` in ir/encode.py).
EncodedRegexes encoded_regexes(const nb::handle& beginning);

// Equal readings have one node. An object or array has its node where it is met, and its words later: nothing here is as deep as the
// document.
class Writer {
 public:
  // Both outlive it; `setting` remembers languages.
  Writer(Setting& setting, Reader& reader) : setting_(setting), reader_(reader), regexes_(&setting.seed) {}

  // The node of the values that satisfy the literal, with all nodes that it leads to; kNoNode if there are plainly none. Where it
  // throws NotEveryday, what was written is of no use.
  NodeId write(Literal literal);
  void forget();

  // The grammar of all that was written, by itself.
  nb::bytes encoded(NodeId root) const;
  // The same, to stand behind other expressions and nodes: the number of expressions, their words and blob, and the same of nodes.
  nb::tuple appended(uint32_t first_regex, NodeId first_node) const;
  // By node: the schema object that an object or array was made of, or the first one whose values any node reads; or None.
  nb::list schemas_of_nodes(bool first) const;

 private:
  static constexpr NodeId kUnknownNode = 0xFFFFFFFE;

  struct Waiting {
    NodeId node;
    uint32_t type;
    Literal schema;  // whose reading it is; kFree for none
  };
  struct NodeWords {
    uint32_t begin = 0, end = 0, blob_begin = 0, blob_end = 0;
    Literal schema = kFree, first_schema = kFree;
  };

  NodeId node(Literal literal);
  NodeId made_node(Literal literal);
  NodeId of_types(uint32_t types, Literal literal);
  NodeId terminal(RegexId regex);
  NodeId choice(const std::vector<NodeId>& nodes);
  NodeId container(uint32_t type, Literal literal);
  void define_object(NodeId id, Literal literal);
  void define_array(NodeId id, Literal literal);

  NodeId reserve();
  void begin(NodeId node);
  void end(NodeId node);
  void add_pick(NodeId node);
  void add_reference(NodeId node);
  void read_first_by(NodeId node, Literal literal);

  std::optional<RegexId> scalar(uint32_t type, const Source& from);
  std::optional<RegexId> booleans(uint32_t truths);
  std::optional<RegexId> given_texts(const Claim& claim);
  nb::object said_of(uint32_t type, const Source& from, std::string& key);
  RegexId asked(uint32_t type, const Source& from);

  Setting& setting_;
  Reader& reader_;
  RegexTable regexes_;
  std::unordered_map<Literal, NodeId> nodes_by_literal_;
  std::unordered_map<std::string, NodeId> nodes_by_reading_;
  std::unordered_map<std::string, NodeId> containers_;
  std::unordered_map<RegexId, NodeId> terminals_;
  std::vector<Waiting> queue_;
  std::vector<NodeWords> nodes_;
  std::vector<uint32_t> words_;  // of all nodes, in the order in which they were defined
  std::string blob_;
  std::vector<size_t> node_references_, regex_references_;  // places in words_
};

}  // namespace gd::everyday
