#include "bindings/everyday_reader.h"

#include <algorithm>
#include <string_view>

#include "bindings/everyday_values.h"
#include "core/expression.h"

namespace gd::everyday {

namespace {

// What becomes of a keyword; src/grammar_decode/everyday.py makes the tables. A word that is in none means nothing.
enum Action : long {
  kStop,  // not here
  kType,
  kEnum,
  kReference,
  kProperties,
  kAdditionalProperties,
  kRequired,
  kItems,
  kAdditionalItems,
  kMinItems,
  kMaxItems,
  kUniqueItems,
  kLength,
  kPattern,
  kOfNumber,
  kFormat,
  kAnyOf,
  kOneOf,
};

// ---- keys ----

std::string& said_of_object(Reading& r, char what) {
  r.object_key.push_back(what);
  return r.object_key;
}

void said_of_array(Reading& r, char what, uint64_t value) {
  r.array_key.push_back(what);
  add_word(r.array_key, value);
  r.key.push_back(what);
  add_word(r.key, value);
}

// What a scalar of the type has to satisfy. Claims that are written alike are alike.
void claim(Reading& r, uint32_t type, PyObject* key, PyObject* argument) {
  r.claims.push_back({type, nb::borrow(key), nb::borrow(argument)});
  r.key.push_back(type == kString ? 'S' : 'N');
  add_claim(r.key, r.claims.back());
}

// ---- keywords whose arguments have no schemas ----

void read_required(Reading& r, PyObject* argument) {
  if (!PyList_CheckExact(argument)) throw NotEveryday{};
  for (Py_ssize_t i = 0; i < PyList_Size(argument); ++i) {
    const std::string_view text = text_of(PyList_GetItem(argument, i));
    if (!is_plain(text)) throw NotEveryday{};
    r.key.push_back('R');
    add_text(r.key, text);
    if (!r.required_names.emplace(text).second) continue;
    r.required.emplace_back(text);
    add_text(said_of_object(r, 'R'), text);
  }
}

void read_min_items(Reading& r, PyObject* argument) {
  r.min_items = count_of(argument);
  if (r.min_items >= ExpressionPool::kManyStrings) throw NotEveryday{};  // and refused
  if (r.min_items == 0) {
    r.key.push_back('t');
  } else {
    said_of_array(r, 'm', r.min_items);
  }
}

void read_unique_items(Reading& r, PyObject* argument) {
  if (!is_bool(argument)) throw NotEveryday{};
  if (argument == Py_True) {
    r.unique_items = true;
    said_of_array(r, 'u', 1);
  }
}

void read_length(Reading& r, PyObject* key, PyObject* argument) {
  if (count_of(argument) == 0 && text_of(key) == "minLength") {
    r.key.push_back('s');
  } else {
    claim(r, kString, key, argument);
  }
}

void read_of_number(Reading& r, PyObject* key, PyObject* argument) {
  if (!PyLong_CheckExact(argument) && !PyFloat_CheckExact(argument)) throw NotEveryday{};
  if (text_of(key) == "multipleOf" && !is_positive(argument)) throw NotEveryday{};
  claim(r, kNumber, key, argument);
}

}  // namespace

void add_claim(std::string& out, const Claim& claim) {
  add_text(out, text_of(claim.keyword.ptr()));
  PyObject* argument = claim.argument.ptr();
  if (PyList_CheckExact(argument)) {
    add_word(out, static_cast<uint64_t>(PyList_Size(argument)));
    for (Py_ssize_t i = 0; i < PyList_Size(argument); ++i) add_scalar(out, PyList_GetItem(argument, i));
  } else {
    add_scalar(out, argument);
  }
}

Reader::Reader(const Setting& setting, const nb::dict& keywords, const nb::str& id_keyword, bool hides_siblings,
               const nb::object& root)
    : setting_(setting),
      keywords_(keywords),
      id_keyword_(id_keyword),
      reference_keyword_(nb::str("$ref")),
      properties_keyword_(nb::str("properties")),
      hides_siblings_(hides_siblings),
      root_(root) {}

// ---- schemas ----

Literal Reader::literal_of(nb::handle value, uint32_t depth, bool is_root) {
  if (value.ptr() == Py_True) return kAlways;
  if (value.ptr() == Py_False) return kNever;
  if (!PyDict_CheckExact(value.ptr())) throw NotEveryday{};
  if (PyDict_Size(value.ptr()) == 0) return kAlways;
  if (const auto known = literals_.find(value.ptr()); known != literals_.end()) return known->second;
  if (!is_root) check_no_resource(value);
  if (depth > setting_.max_nesting) throw NotEveryday{};
  const auto literal = static_cast<Literal>(schemas_.size()) + kFirstSchema;
  schemas_.push_back({nb::borrow(value), depth, false, {}});
  literals_.emplace(value.ptr(), literal);
  return literal;
}

// Another resource begins at a schema object that has an identifier.
void Reader::check_no_resource(nb::handle value) {
  PyObject* name = get(value, id_keyword_);
  if (name != nullptr && PyUnicode_Check(name)) throw NotEveryday{};
}

Literal Reader::pointed(PyObject* target) {
  const std::string_view text = text_of(target);
  if (text == "#") return document();
  if (!text.starts_with("#/") || text.find('%') != std::string_view::npos) throw NotEveryday{};
  nb::handle at = root_;
  for (size_t begin = 2; begin <= text.size();) {
    const size_t end = std::min(text.find('/', begin), text.size());
    std::string token(text.substr(begin, end - begin));
    if (token.find('~') != std::string::npos) throw NotEveryday{};
    if (!PyDict_CheckExact(at.ptr())) throw NotEveryday{};
    if (begin > 2) check_no_resource(at);
    PyObject* next = get(at, nb::str(token.c_str(), token.size()));
    if (next == nullptr) throw NotEveryday{};
    at = next;
    begin = end + 1;
  }
  return literal_of(at, 0, false);
}

nb::object Reader::object_of(Literal literal) const {
  return is_schema(literal) ? schemas_[literal - kFirstSchema].value : nb::none();
}

const Reading& Reader::said_by(Literal literal) {
  static const Reading nothing;
  if (literal == kFree) return nothing;
  Schema& schema = schemas_[literal - kFirstSchema];
  if (!schema.is_read) {
    schema.reading = read(schema.value, schema.depth);
    schema.is_read = true;
  }
  return schema.reading;
}

// ---- what one of them says ----

Reading Reader::read(const nb::object& schema, uint32_t depth) {
  Reading r;
  if (hides_siblings_) {
    if (PyObject* target = get(schema, reference_keyword_); target != nullptr) {
      r.alias = pointed(target);
      return r;
    }
  }
  bool says_something = false;
  PyObject* key = nullptr;
  PyObject* argument = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(schema.ptr(), &position, &key, &argument) != 0) {
    if (!PyUnicode_CheckExact(key)) throw NotEveryday{};
    PyObject* action = get(keywords_, key);
    if (action == nullptr) continue;
    if (r.alias != kNoLiteral) throw NotEveryday{};
    const long what = PyLong_AsLong(action);
    if (what == kReference) {
      if (says_something) throw NotEveryday{};
      r.alias = pointed(argument);
    } else {
      says_something = true;
      read_keyword(r, schema, depth, what, key, argument);
    }
  }
  if (r.branches.size() == 1 && r.types == kEveryType && r.key.empty()) r.alias = r.branches[0];
  return r;
}

void Reader::read_keyword(Reading& r, const nb::object& schema, uint32_t depth, long action, PyObject* key, PyObject* argument) {
  switch (action) {
    case kType:
      return read_type(r, argument);
    case kEnum:
      return read_enum(r, key, argument);
    case kProperties:
      return read_properties(r, depth, argument);
    case kAdditionalProperties:
      return read_additional_properties(r, schema, depth, argument);
    case kRequired:
      return read_required(r, argument);
    case kItems:
      return read_items(r, depth, argument);
    case kAdditionalItems:  // says nothing where `items` is one schema, or none
      literal_of(argument, depth + 1, false);
      return;
    case kMinItems:
      return read_min_items(r, argument);
    case kMaxItems:
      r.max_items = count_of(argument);
      return said_of_array(r, 'x', r.max_items);
    case kUniqueItems:
      return read_unique_items(r, argument);
    case kLength:
      return read_length(r, key, argument);
    case kPattern:
      text_of(argument);
      return claim(r, kString, key, argument);
    case kOfNumber:
      return read_of_number(r, key, argument);
    case kFormat: {
      text_of(argument);
      PyObject* type = get(setting_.formats, argument);
      if (type != nullptr) claim(r, static_cast<uint32_t>(PyLong_AsLong(type)), key, argument);
      return;
    }
    case kAnyOf:
    case kOneOf:
      r.exactly_one = action == kOneOf;
      return read_alternatives(r, depth, argument);
    default:
      throw NotEveryday{};
  }
}

void Reader::read_type(Reading& r, PyObject* argument) {
  uint32_t types = 0;
  bool integer = false;
  bool number = false;
  const auto add = [&](PyObject* name) {
    if (!PyUnicode_CheckExact(name)) throw NotEveryday{};
    PyObject* found = get(setting_.types, name);
    if (found == nullptr) throw NotEveryday{};
    const auto bits = static_cast<uint32_t>(PyLong_AsLong(found));
    types |= bits;
    if (bits == kNumber) (text_of(name) == "integer" ? integer : number) = true;
  };
  if (PyList_CheckExact(argument)) {
    for (Py_ssize_t i = 0; i < PyList_Size(argument); ++i) add(PyList_GetItem(argument, i));
  } else {
    add(argument);
  }
  r.types &= types;
  if (integer && !number) {
    r.is_integer = true;
    r.key.push_back('i');
    r.claims.push_back({kNumber, nb::str("type"), nb::str("integer")});
  }
}

void Reader::read_enum(Reading& r, PyObject* key, PyObject* argument) {
  const bool is_list = text_of(key) == "enum";
  if (is_list && !PyList_CheckExact(argument)) throw NotEveryday{};
  const Py_ssize_t size = is_list ? PyList_Size(argument) : 1;
  if (size > setting_.max_enum) throw NotEveryday{};
  uint32_t types = 0;
  uint32_t truths = 0;
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject* value = is_list ? PyList_GetItem(argument, i) : argument;
    if (PyUnicode_CheckExact(value)) {
      types |= kString;
    } else if (value == Py_None) {
      types |= kNull;
    } else if (is_bool(value)) {
      types |= kBoolean;
      truths |= value == Py_True ? 2 : 1;
    } else if (PyLong_CheckExact(value)) {
      types |= kNumber;
    } else {
      throw NotEveryday{};
    }
  }
  r.types &= types;
  if ((types & kBoolean) != 0) {
    r.truths &= truths;
    r.key.push_back(static_cast<char>('0' + truths));
  }
  for (const uint32_t type : {kString, kNumber}) {
    if ((types & type) != 0) claim(r, type, key, argument);
  }
}

void Reader::read_properties(Reading& r, uint32_t depth, PyObject* argument) {
  if (!PyDict_CheckExact(argument)) throw NotEveryday{};
  if (PyDict_Size(argument) == 0) return;
  PyObject* name = nullptr;
  PyObject* inner = nullptr;
  Py_ssize_t position = 0;
  std::string& order = said_of_object(r, 'O');
  add_word(order, static_cast<uint64_t>(PyDict_Size(argument)));
  std::string members;
  while (PyDict_Next(argument, &position, &name, &inner) != 0) {
    const std::string_view text = text_of(name);
    if (!is_plain(text)) throw NotEveryday{};
    const Literal literal = literal_of(inner, depth + 1, false);
    if (literal == kNever) throw NotEveryday{};
    add_text(order, text);
    if (literal == kAlways) {
      r.key.push_back('T');
    } else {
      r.key.push_back('M');
      add_word(r.key, literal);
      add_word(members, r.members.size());
      add_word(members, literal);
    }
    r.members.emplace_back(text, literal);
  }
  add_text(r.key, order);
  order.append(members);
}

void Reader::read_additional_properties(Reading& r, const nb::object& schema, uint32_t depth, PyObject* argument) {
  const Literal literal = literal_of(argument, depth + 1, false);
  if (literal == kAlways) return;
  r.others = literal;
  r.has_others = true;
  std::string said;
  if (PyObject* declared = get(schema, properties_keyword_); declared != nullptr) {
    if (!PyDict_CheckExact(declared)) throw NotEveryday{};
    add_word(said, static_cast<uint64_t>(PyDict_Size(declared)));  // the names stand in what `properties` says
  }
  add_word(said, literal);
  said_of_object(r, 'A').append(said);
  r.key.push_back('A');
  r.key.append(said);
}

void Reader::read_items(Reading& r, uint32_t depth, PyObject* argument) {
  const Literal literal = literal_of(argument, depth + 1, false);
  if (literal == kNever) throw NotEveryday{};
  if (literal == kAlways) {
    r.key.push_back('t');
    return;
  }
  r.items = literal;
  said_of_array(r, 'I', literal);
}

void Reader::read_alternatives(Reading& r, uint32_t depth, PyObject* argument) {
  if (!PyList_CheckExact(argument) || PyList_Size(argument) == 0 || !r.branches.empty()) throw NotEveryday{};
  if (PyList_Size(argument) > setting_.max_alternatives) throw NotEveryday{};
  for (Py_ssize_t i = 0; i < PyList_Size(argument); ++i) {
    r.branches.push_back(literal_of(PyList_GetItem(argument, i), depth + 1, false));
  }
}

}  // namespace gd::everyday
