// What each schema object of one document says, as it stands there: nothing is looked up behind a reference or an alternative.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "bindings/everyday.h"

namespace gd::everyday {

struct Claim {  // about a scalar
  uint32_t type;
  nb::object keyword, argument;
};

// What one schema object says.
struct Reading {
  uint32_t types = kEveryType;
  Literal alias = kNoLiteral;  // it is nothing but a reference
  std::string key;             // all that it says, part for part
  std::vector<Claim> claims;
  bool is_integer = false;
  uint32_t truths = 3;  // bit 0: false, bit 1: true
  // Alternatives: at least one holds, or exactly one.
  std::vector<Literal> branches;
  bool exactly_one = false;
  // objects: key for what is said of them
  std::string object_key;
  std::vector<std::pair<std::string, Literal>> members;  // declared; kAlways where nothing is said
  std::vector<std::string> required;
  std::unordered_set<std::string> required_names;  // the same
  Literal others = kFree;
  bool has_others = false;
  // arrays
  std::string array_key;
  Literal items = kFree;
  uint32_t min_items = 0, max_items = kNone;
  bool unique_items = false;
};

// The claim, in a key.
void add_claim(std::string& out, const Claim& claim);

// Schemas are numbered as they are met. Each is read once, and only when somebody asks: what nobody leads to may say anything.
class Reader {
 public:
  // `keywords`: keyword → Action (everyday_reader.cpp). `hides_siblings`: beside a reference nothing is said. `setting` outlives it.
  Reader(const Setting& setting, const nb::dict& keywords, const nb::str& id_keyword, bool hides_siblings, const nb::object& root);

  // The whole document. Throws NotEveryday, as all below.
  Literal document() { return literal_of(root_, 0, true); }
  // A schema of it. `depth`: how many schemas it stands in.
  Literal schema(const nb::object& value, uint32_t depth) { return literal_of(value, depth, value.is(root_)); }
  // What a schema says, or kFree, which says nothing. It stays where it is.
  const Reading& said_by(Literal literal);
  // The object of a schema, or None for any other literal.
  nb::object object_of(Literal literal) const;

 private:
  struct Schema {
    nb::object value;
    uint32_t depth = 0;
    bool is_read = false;
    Reading reading;
  };

  Literal literal_of(nb::handle value, uint32_t depth, bool is_root);
  void check_no_resource(nb::handle value);
  Literal pointed(PyObject* target);

  Reading read(const nb::object& schema, uint32_t depth);
  void read_keyword(Reading& r, const nb::object& schema, uint32_t depth, long action, PyObject* key, PyObject* argument);
  void read_type(Reading& r, PyObject* argument);
  void read_enum(Reading& r, PyObject* key, PyObject* argument);
  void read_properties(Reading& r, uint32_t depth, PyObject* argument);
  void read_additional_properties(Reading& r, const nb::object& schema, uint32_t depth, PyObject* argument);
  void read_items(Reading& r, uint32_t depth, PyObject* argument);
  void read_alternatives(Reading& r, uint32_t depth, PyObject* argument);

  const Setting& setting_;
  nb::dict keywords_;
  nb::str id_keyword_, reference_keyword_, properties_keyword_;
  bool hides_siblings_;
  nb::object root_;
  std::deque<Schema> schemas_;                       // in which references stay valid
  std::unordered_map<PyObject*, Literal> literals_;  // of schema objects, by identity
};

}  // namespace gd::everyday
