// Everyday schemas straight to the byte format of the IR: types, properties, required, items, references, enumerations, scalars.
//
// What a schema means is said in src/grammar_decode/json_schema, and nowhere else. This is a second, faster way to the same grammar for
// documents in which every value is described by one schema object: nothing is combined, so there are no formulas. Alternatives are
// taken where they differ by type, and among strings and numbers. Whatever is not certainly of that kind (any other applicator, a wrong
// argument, two things said of one member) is left to the other way: compile() says None. tests/unit/test_everyday.py compares the two. The nodes are the same, in the same order; of the regular expressions only those are
// written that are used.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/expression.h"
#include "core/regex_table.h"

namespace nb = nanobind;

namespace {

using gd::NodeId;
using gd::RegexId;

struct NotEveryday {};

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

// JSON types, as in claims.py.
constexpr uint32_t kNull = 1, kBoolean = 2, kNumber = 4, kString = 8, kArray = 16, kObject = 32, kEveryType = 63;

// A schema, and the two that are no objects. kFree: nothing was said at all.
using Literal = uint32_t;
constexpr Literal kNever = 0, kAlways = 1, kFirstSchema = 2, kFree = 0xFFFFFFFE, kNoLiteral = 0xFFFFFFFF;
constexpr NodeId kUnknownNode = 0xFFFFFFFE, kNoNode = 0xFFFFFFFF;

constexpr uint32_t kNone = gd::kNone;
constexpr uint32_t kTrue = 1;  // the formula, in the byte format

void add_word(std::string& out, uint64_t value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); }
void add_text(std::string& out, std::string_view text) {
  add_word(out, text.size());
  out.append(text);
}

std::string_view text_of(PyObject* value) {
  if (!PyUnicode_CheckExact(value)) throw NotEveryday{};
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(value, &size);
  if (data == nullptr) {  // a lone surrogate
    PyErr_Clear();
    throw NotEveryday{};
  }
  return {data, static_cast<size_t>(size)};
}

// Whether a text stands between quotes as it is.
bool is_plain(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == '"' || byte == '\\') return false;
  }
  return true;
}

bool is_bool(PyObject* value) { return value == Py_True || value == Py_False; }

uint32_t count_of(PyObject* value) {
  if (!PyLong_CheckExact(value)) throw NotEveryday{};
  int overflow = 0;
  const long long n = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0 || n < 0 || n >= kNone) throw NotEveryday{};
  return static_cast<uint32_t>(n);
}

bool is_positive(PyObject* number) {
  if (PyFloat_CheckExact(number)) return PyFloat_AsDouble(number) > 0;
  return count_of(number) > 0;
}

// A number by its value: equal for 1 and 1.0.
void add_number(std::string& out, PyObject* value) {
  if (PyFloat_CheckExact(value)) {
    const double number = PyFloat_AsDouble(value);
    if (!(number > -9e15 && number < 9e15)) throw NotEveryday{};
    if (number != static_cast<double>(static_cast<long long>(number))) {
      out.push_back('f');
      uint64_t bits = 0;
      std::memcpy(&bits, &number, sizeof bits);
      add_word(out, bits);
      return;
    }
    out.push_back('i');
    add_word(out, static_cast<uint64_t>(static_cast<long long>(number)));
    return;
  }
  if (!PyLong_CheckExact(value)) throw NotEveryday{};
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0) throw NotEveryday{};
  out.push_back('i');
  add_word(out, static_cast<uint64_t>(number));
}

gd::EncodedRegexes encoded_regexes(const nb::handle& beginning) {
  gd::EncodedRegexes result;
  result.count = nb::cast<uint32_t>(beginning.attr("num_regexes"));
  const auto words = nb::cast<nb::bytes>(beginning.attr("words"));
  const auto blob = nb::cast<nb::bytes>(beginning.attr("blob"));
  result.words.resize(words.size() / sizeof(uint32_t));
  if (!result.words.empty()) std::memcpy(result.words.data(), words.c_str(), result.words.size() * sizeof(uint32_t));
  result.blob.assign(blob.c_str(), blob.size());
  return result;
}

// The same for all schemas that are compiled with equal options.
struct Setting {
  gd::EncodedRegexes beginning;
  gd::RegexTable seed;
  std::vector<uint32_t> spacing;  // words
  std::string spacing_blob;
  RegexId empty = 0, null = 0, booleans = 0, numbers = 0, integers = 0, strings = 0, quote = 0, every_key = 0;
  bool texts_are_literal = false;  // a string that is given has one spelling
  nb::dict types;                  // name → bits
  nb::dict formats;                // name → kString or kNumber
  nb::object scalar;               // (type, what is said of it) → its language, or None
  uint32_t max_nodes = 0, max_nesting = 0, max_alternatives = 0, max_enum = 0;  // beyond them the other way refuses

  // Languages that were asked of `scalar`, by what was said. Forgotten when they become large.
  static constexpr size_t kMostBytes = size_t{8} << 20;
  std::unordered_map<std::string, gd::EncodedRegexes> languages;
  size_t language_bytes = 0;
};

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

// Where a schema says what it says of the values of one type.
struct Source {
  enum Kind { kNothing, kAnything, kSaid, kAlternatives };
  Kind kind = kNothing;                   // kNothing: no value of the type
  Literal literal = kFree;                // kSaid: the schema
  std::vector<Source> alternatives = {};  // of numbers or strings
  bool exactly_one = false;
};

class Compilation {
 public:
  Compilation(Setting& setting, const nb::dict& keywords, const nb::str& id_keyword, bool hides_siblings, const nb::object& root)
      : setting_(setting),
        keywords_(keywords),
        id_keyword_(id_keyword),
        reference_keyword_(nb::str("$ref")),
        properties_keyword_(nb::str("properties")),
        hides_siblings_(hides_siblings),
        root_(root),
        regexes_(&setting.seed) {}

  // The whole document; nothing if it is no everyday one.
  std::optional<nb::bytes> compile() {
    forget_nodes();
    try {
      const NodeId root = node(literal_of(root_, 0, true));
      define_all();
      if (root != kNoNode) return encoded(root);
    } catch (const NotEveryday&) {
    }
    forget_nodes();
    return std::nullopt;
  }

  // The node of a schema of the document; nothing if it, or a schema that it leads to, is no everyday one, kNoNode if no value
  // satisfies it. `depth`: how many schemas it stands in. Throws NotEveryday where that was seen too late, and what was made is of no use.
  std::optional<NodeId> part(const nb::object& schema, uint32_t depth) {
    Literal literal = kNever;
    try {
      literal = literal_of(schema, depth, schema.is(root_));
    } catch (const NotEveryday&) {
      return std::nullopt;
    }
    if (!is_closed(literal)) return std::nullopt;
    const NodeId made = node(literal);
    define_all();
    return made;
  }

  // What was made, to stand behind other expressions and nodes: the number of expressions, their words and blob, and the same of nodes.
  nb::tuple appended(uint32_t first_regex, NodeId first_node) {
    const auto bytes = [](const auto& data) {
      return nb::bytes(reinterpret_cast<const char*>(data.data()), data.size() * sizeof(data[0]));
    };
    const uint32_t num_base = setting_.seed.size();
    std::vector<uint32_t> moved = words_;
    for (const size_t at : node_references_) moved[at] += first_node;
    for (const size_t at : regex_references_) moved[at] += moved[at] < num_base ? 0 : first_regex - num_base;
    std::vector<uint32_t> words;
    std::string blob;
    for (const NodeWords& node : nodes_) {
      words.insert(words.end(), moved.begin() + node.begin, moved.begin() + node.end);
      blob.append(blob_, node.blob_begin, node.blob_end - node.blob_begin);
    }
    return nb::make_tuple(regexes_.size() - num_base, bytes(regexes_.words_from(first_regex)), bytes(regexes_.blob()),
                          nodes_.size(), bytes(words), bytes(blob));
  }

  // By node: the schema object that an object or array was made of, or the first one whose values any node reads; or None.
  nb::list schemas_of_nodes(bool first) const {
    nb::list result;
    for (const NodeWords& node : nodes_) {
      const Literal schema = first ? node.first_schema : node.schema;
      const bool is_known = schema >= kFirstSchema && schema < kFree;
      result.append(is_known ? schemas_[schema - kFirstSchema].value : nb::none());
    }
    return result;
  }

 private:
  struct Waiting {
    NodeId node;
    uint32_t type;
    Literal schema;  // whose reading it is; kFree for none
  };
  struct NodeWords {
    uint32_t begin = 0, end = 0, blob_begin = 0, blob_end = 0;
    Literal schema = kFree, first_schema = kFree;
  };
  enum class Closed : uint8_t { kUnknown, kNo, kYes };
  struct Schema {
    nb::object value;
    uint32_t depth = 0;
    bool is_read = false;
    Reading reading;
    Closed closed = Closed::kUnknown;
  };

  // Schemas inside each other that look at one value: twice as many are less than Limits.max_depth. What refers to itself has more.
  static constexpr uint32_t kMostInside = 32;
  static constexpr size_t kMostMembersInside = 1000;  // so that Limits.max_formula is no question

  // ---- schemas ----

  Literal literal_of(nb::handle value, uint32_t depth, bool is_root) {
    if (value.ptr() == Py_True) return kAlways;
    if (value.ptr() == Py_False) return kNever;
    if (!PyDict_CheckExact(value.ptr())) throw NotEveryday{};
    if (PyDict_Size(value.ptr()) == 0) return kAlways;
    if (const auto known = numbers_.find(value.ptr()); known != numbers_.end()) return known->second;
    if (!is_root) check_no_resource(value);
    if (depth > setting_.max_nesting) throw NotEveryday{};
    const auto literal = static_cast<Literal>(schemas_.size()) + kFirstSchema;
    schemas_.push_back({nb::borrow(value), depth, false, {}, Closed::kUnknown});
    numbers_.emplace(value.ptr(), literal);
    return literal;
  }

  PyObject* get(nb::handle dict, nb::handle key) {
    PyObject* found = PyDict_GetItemWithError(dict.ptr(), key.ptr());
    if (found == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
    return found;
  }

  // Another resource begins at a schema object that has an identifier.
  void check_no_resource(nb::handle value) {
    PyObject* name = get(value, id_keyword_);
    if (name != nullptr && PyUnicode_Check(name)) throw NotEveryday{};
  }

  Literal pointed(PyObject* target) {
    const std::string_view text = text_of(target);
    if (text == "#") return literal_of(root_, 0, true);
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

  const Reading& read(Literal literal) {
    const uint32_t number = literal - kFirstSchema;
    if (!schemas_[number].is_read) {
      schemas_[number].reading = read_schema(schemas_[number].value, schemas_[number].depth);
      schemas_[number].is_read = true;
    }
    return schemas_[number].reading;
  }

  const Reading& said_by(Literal literal) { return literal == kFree ? nothing_said() : read(literal); }

  static const Reading& nothing_said() {
    static const Reading reading;
    return reading;
  }

  Reading read_schema(const nb::object& schema, uint32_t depth) {
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

  void read_keyword(Reading& r, const nb::object& schema, uint32_t depth, long action, PyObject* key, PyObject* argument) {
    switch (action) {
      case kType:
        read_type(r, argument);
        return;
      case kEnum:
        read_enum(r, key, argument);
        return;
      case kProperties: {
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
        return;
      }
      case kAdditionalProperties: {
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
        return;
      }
      case kRequired: {
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
        return;
      }
      case kItems: {
        const Literal literal = literal_of(argument, depth + 1, false);
        if (literal == kNever) throw NotEveryday{};
        if (literal == kAlways) {
          r.key.push_back('t');
          return;
        }
        r.items = literal;
        said_of_array(r, 'I', literal);
        return;
      }
      case kAdditionalItems:  // says nothing where `items` is one schema, or none
        literal_of(argument, depth + 1, false);
        return;
      case kMinItems:
        r.min_items = count_of(argument);
        if (r.min_items >= gd::ExpressionPool::kManyStrings) throw NotEveryday{};  // and refused
        if (r.min_items == 0) {
          r.key.push_back('t');
        } else {
          said_of_array(r, 'm', r.min_items);
        }
        return;
      case kMaxItems:
        r.max_items = count_of(argument);
        said_of_array(r, 'x', r.max_items);
        return;
      case kUniqueItems:
        if (!is_bool(argument)) throw NotEveryday{};
        if (argument == Py_True) {
          r.unique_items = true;
          said_of_array(r, 'u', 1);
        }
        return;
      case kLength:
        if (count_of(argument) == 0 && text_of(key) == "minLength") {
          r.key.push_back('s');
        } else {
          claim(r, kString, key, argument);
        }
        return;
      case kPattern:
        text_of(argument);
        claim(r, kString, key, argument);
        return;
      case kOfNumber:
        if (!PyLong_CheckExact(argument) && !PyFloat_CheckExact(argument)) throw NotEveryday{};
        if (text_of(key) == "multipleOf" && !is_positive(argument)) throw NotEveryday{};
        claim(r, kNumber, key, argument);
        return;
      case kFormat: {
        text_of(argument);
        PyObject* type = get(setting_.formats, argument);
        if (type != nullptr) claim(r, static_cast<uint32_t>(PyLong_AsLong(type)), key, argument);
        return;
      }
      case kAnyOf:
      case kOneOf:
        if (!PyList_CheckExact(argument) || PyList_Size(argument) == 0 || !r.branches.empty()) throw NotEveryday{};
        if (PyList_Size(argument) > setting_.max_alternatives) throw NotEveryday{};
        r.exactly_one = action == kOneOf;
        for (Py_ssize_t i = 0; i < PyList_Size(argument); ++i) {
          r.branches.push_back(literal_of(PyList_GetItem(argument, i), depth + 1, false));
        }
        return;
      default:
        throw NotEveryday{};
    }
  }

  static std::string& said_of_object(Reading& r, char what) {
    r.object_key.push_back(what);
    return r.object_key;
  }
  static void said_of_array(Reading& r, char what, uint64_t value) {
    r.array_key.push_back(what);
    add_word(r.array_key, value);
    r.key.push_back(what);
    add_word(r.key, value);
  }

  void read_type(Reading& r, PyObject* argument) {
    const auto bits_of = [&](PyObject* name) {
      if (!PyUnicode_CheckExact(name)) throw NotEveryday{};
      PyObject* bits = get(setting_.types, name);
      if (bits == nullptr) throw NotEveryday{};
      return static_cast<uint32_t>(PyLong_AsLong(bits));
    };
    uint32_t types = 0;
    bool integer = false;
    bool number = false;
    const auto add = [&](PyObject* name) {
      const uint32_t bits = bits_of(name);
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

  void read_enum(Reading& r, PyObject* key, PyObject* argument) {
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

  // What a scalar of the type has to satisfy. Claims that are written alike are alike.
  void claim(Reading& r, uint32_t type, PyObject* key, PyObject* argument) {
    r.claims.push_back({type, nb::borrow(key), nb::borrow(argument)});
    r.key.push_back(type == kString ? 'S' : 'N');
    add_claim(r.key, r.claims.back());
  }

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

  static void add_scalar(std::string& out, PyObject* value) {
    if (PyUnicode_CheckExact(value)) {
      out.push_back('"');
      add_text(out, text_of(value));
    } else if (value == Py_None || is_bool(value)) {
      out.push_back(value == Py_None ? 'n' : value == Py_True ? 't' : 'f');
    } else {
      add_number(out, value);
    }
  }

  // ---- which schemas are everyday ones, and lead to no others ----

  // Whether the schema by itself is one; `next`: where it leads to.
  bool leads_to(Literal literal, std::vector<Literal>& next) {
    try {
      const Reading& reading = read(literal);
      if (reading.alias != kNoLiteral) {
        next.push_back(reading.alias);
        return true;
      }
      for (uint32_t type = kNull; type <= kObject; type <<= 1) {
        if ((reading.types & type) != 0) source(literal, type, 0);
      }
      if (reading.branches.empty()) {
        if ((reading.types & kObject) != 0) required_by(reading);
        if ((reading.types & kArray) != 0) check_array(reading);
      }
      for (const auto& [name, value] : reading.members) next.push_back(value);
      next.insert(next.end(), {reading.others, reading.items});
      next.insert(next.end(), reading.branches.begin(), reading.branches.end());
      return true;
    } catch (const NotEveryday&) {
      return false;
    }
  }

  // Decided at once for all that is reached from it, so each schema is looked at once.
  bool is_closed(Literal start) {
    const auto is_schema = [](Literal literal) { return literal >= kFirstSchema && literal < kFree; };
    const auto closed = [&](Literal literal) -> Closed& { return schemas_[literal - kFirstSchema].closed; };
    if (!is_schema(start)) return true;
    if (closed(start) != Closed::kUnknown) return closed(start) == Closed::kYes;
    std::vector<Literal> reached{start}, open, next;
    std::unordered_set<Literal> seen{start};
    std::unordered_map<Literal, std::vector<Literal>> from;
    for (size_t i = 0; i < reached.size(); ++i) {
      const Literal at = reached[i];
      next.clear();
      bool is_open = !leads_to(at, next);
      for (const Literal to : next) {
        if (!is_schema(to) || closed(to) == Closed::kYes) continue;
        if (closed(to) == Closed::kNo) {
          is_open = true;
          break;
        }
        from[to].push_back(at);
        if (seen.insert(to).second) reached.push_back(to);
      }
      if (is_open) open.push_back(at);
    }
    for (const Literal literal : open) closed(literal) = Closed::kNo;
    while (!open.empty()) {
      const Literal literal = open.back();
      open.pop_back();
      for (const Literal before : from[literal]) {
        if (closed(before) == Closed::kUnknown) {
          closed(before) = Closed::kNo;
          open.push_back(before);
        }
      }
    }
    for (const Literal literal : reached) {
      if (closed(literal) == Closed::kUnknown) closed(literal) = Closed::kYes;
    }
    return closed(start) == Closed::kYes;
  }

  // Which classes of an object are required. Names that are required and not declared are classes behind the declared ones.
  struct Required {
    std::vector<uint32_t> ids;
    std::vector<std::string_view> undeclared;
  };
  static Required required_by(const Reading& reading) {
    Required result;
    if (reading.required.empty()) return result;
    const auto num_declared = static_cast<uint32_t>(reading.members.size());
    std::unordered_map<std::string_view, uint32_t> ids;
    for (uint32_t i = 0; i < num_declared; ++i) ids.emplace(reading.members[i].first, i);
    for (const std::string& name : reading.required) {
      const auto known = ids.find(name);
      if (known != ids.end()) {
        result.ids.push_back(known->second);
        continue;
      }
      if (reading.has_others) throw NotEveryday{};  // two things are said of it
      result.ids.push_back(num_declared + static_cast<uint32_t>(result.undeclared.size()));
      result.undeclared.push_back(name);
    }
    std::sort(result.ids.begin(), result.ids.end());
    return result;
  }

  static void check_array(const Reading& reading) {
    if (reading.max_items < reading.min_items || reading.max_items == 0) throw NotEveryday{};
  }

  // ---- nodes ----

  void define_all() {
    while (!queue_.empty()) {
      const Waiting waiting = queue_.back();
      queue_.pop_back();
      nodes_[waiting.node].schema = waiting.schema;
      if (waiting.type == kArray) {
        define_array(waiting.node, waiting.schema);
      } else {
        define_object(waiting.node, waiting.schema);
      }
    }
  }

  void forget_nodes() {
    regexes_ = gd::RegexTable(&setting_.seed);
    nodes_by_literal_.clear();
    nodes_by_reading_.clear();
    containers_.clear();
    terminals_.clear();
    queue_.clear();
    nodes_.clear();
    words_.clear();
    blob_.clear();
    node_references_.clear();
    regex_references_.clear();
  }

  // Behind references. `depth`: how many schemas look at the value so far.
  Literal target_of(Literal literal, uint32_t& depth) {
    for (; literal >= kFirstSchema && literal != kFree; ++depth) {
      if (depth > kMostInside) throw NotEveryday{};
      const Literal alias = read(literal).alias;
      if (alias == kNoLiteral) break;
      literal = alias;
    }
    return literal;
  }

  // The node of the values that satisfy the literal; kNoNode if there are plainly none.
  NodeId node(Literal literal) {
    NodeId& known = nodes_by_literal_.try_emplace(literal, kUnknownNode).first->second;
    if (known != kUnknownNode) return known;
    uint32_t depth = 0;
    const Literal target = target_of(literal, depth);
    NodeId made = kNoNode;
    if (target != kNever) {
      const auto found = nodes_by_literal_.find(target);
      made = found != nodes_by_literal_.end() && found->second != kUnknownNode ? found->second : made_node(target);
      nodes_by_literal_[target] = made;
    }
    nodes_by_literal_[literal] = made;
    return made;
  }

  NodeId made_node(Literal literal) {
    if (literal < kFirstSchema || literal == kFree) return of_types(kEveryType, kFree);
    const Reading& reading = read(literal);
    if (!reading.branches.empty()) return of_types(reading.types, literal);
    std::string key = reading.key;
    key.push_back(static_cast<char>('@' + reading.types));
    const auto found = nodes_by_reading_.find(key);
    if (found != nodes_by_reading_.end()) return found->second;
    const NodeId made = of_types(reading.types, literal);
    nodes_by_reading_.emplace(std::move(key), made);
    return made;
  }

  // ---- one type ----

  static bool says(const Reading& reading, uint32_t type) {
    switch (type) {
      case kNull:
        return false;
      case kBoolean:
        return reading.truths != 3;
      case kObject:
        return !reading.object_key.empty();
      case kArray:
        return !reading.array_key.empty();
      default:
        return std::any_of(reading.claims.begin(), reading.claims.end(), [&](const Claim& c) { return c.type == type; });
    }
  }

  Source source(Literal literal, uint32_t type, uint32_t depth) {
    if (depth > kMostInside) throw NotEveryday{};
    literal = literal == kFree ? kFree : target_of(literal, depth);
    if (literal == kNever) return {};
    if (literal == kAlways || literal == kFree) return {Source::kAnything};
    const Reading& reading = read(literal);
    if ((reading.types & type) == 0) return {};
    if (reading.branches.empty()) return says(reading, type) ? Source{Source::kSaid, literal} : Source{Source::kAnything};
    if (says(reading, type)) throw NotEveryday{};
    std::vector<Source> live;
    for (const Literal branch : reading.branches) {
      Source found = source(branch, type, depth + 1);
      if (found.kind == Source::kNothing) continue;
      if (found.kind == Source::kAnything && !reading.exactly_one) return found;
      live.push_back(std::move(found));
    }
    if (live.empty()) return {};
    if (live.size() == 1) {
      if (live[0].kind == Source::kSaid && read(live[0].literal).members.size() > kMostMembersInside) throw NotEveryday{};
      return std::move(live[0]);
    }
    if (type != kNumber && type != kString) throw NotEveryday{};
    return {Source::kAlternatives, kFree, std::move(live), reading.exactly_one};
  }

  NodeId of_types(uint32_t types, Literal literal) {
    std::vector<RegexId> texts;
    for (const uint32_t type : {kNull, kBoolean, kNumber, kString}) {
      if ((types & type) == 0) continue;
      const Source from = source(literal, type, 0);
      if (from.kind == Source::kNothing) continue;
      const std::optional<RegexId> text = from.kind == Source::kAlternatives ? asked(type, from) : scalar(type, from.literal);
      if (text) texts.push_back(*text);
    }
    std::vector<NodeId> nodes;
    if (!texts.empty()) {
      const RegexId text = texts.size() > 1 ? regexes_.alternate(texts) : texts[0];
      if (text != setting_.empty) nodes.push_back(terminal(text));
    }
    for (const uint32_t type : {kObject, kArray}) {
      if ((types & type) == 0) continue;
      const Source from = source(literal, type, 0);
      if (from.kind != Source::kNothing) nodes.push_back(container(type, from.literal));
    }
    for (const NodeId one : nodes) read_first_by(one, literal);
    if (nodes.size() <= 1) return nodes.empty() ? kNoNode : nodes[0];
    const NodeId choice = reserve();
    read_first_by(choice, literal);
    begin(choice);
    words_.push_back(gd::Node::kChoice);
    words_.push_back(static_cast<uint32_t>(nodes.size()));
    for (const NodeId one : nodes) add_reference(one);
    end(choice);
    return choice;
  }

  void read_first_by(NodeId node, Literal literal) {
    Literal& first = nodes_[node].first_schema;
    if (first == kFree) first = literal;
  }

  NodeId terminal(RegexId regex) {
    const auto [known, is_new] = terminals_.try_emplace(regex, static_cast<NodeId>(nodes_.size()));
    if (is_new) {
      const NodeId id = reserve();
      begin(id);
      words_.push_back(gd::Node::kTerminal);
      regex_references_.push_back(words_.size());
      words_.push_back(regex);
      end(id);
    }
    return known->second;
  }

  NodeId container(uint32_t type, Literal literal) {
    std::string key(1, type == kObject ? 'o' : 'a');
    const Reading& reading = said_by(literal);
    key.append(type == kObject ? reading.object_key : reading.array_key);
    const auto [known, is_new] = containers_.try_emplace(std::move(key), static_cast<NodeId>(nodes_.size()));
    if (is_new) queue_.push_back({reserve(), type, literal});
    return known->second;
  }

  NodeId reserve() {
    if (nodes_.size() >= setting_.max_nodes) throw NotEveryday{};
    nodes_.emplace_back();
    return static_cast<NodeId>(nodes_.size() - 1);
  }
  void begin(NodeId node) {
    nodes_[node].begin = static_cast<uint32_t>(words_.size());
    nodes_[node].blob_begin = static_cast<uint32_t>(blob_.size());
  }
  void end(NodeId node) {
    nodes_[node].end = static_cast<uint32_t>(words_.size());
    nodes_[node].blob_end = static_cast<uint32_t>(blob_.size());
  }

  void add_pick(NodeId node) {
    if (node == kNoNode) {
      words_.push_back(0);
    } else {
      words_.push_back(1);
      add_reference(node);
      words_.push_back(0);
    }
  }
  void add_reference(NodeId node) {
    node_references_.push_back(words_.size());
    words_.push_back(node);
  }

  void define_object(NodeId id, Literal literal) {
    const Reading& reading = said_by(literal);
    const Required required = required_by(reading);
    std::vector<std::pair<std::string_view, Literal>> classes(reading.members.begin(), reading.members.end());
    for (const std::string_view name : required.undeclared) classes.emplace_back(name, kFree);
    std::vector<NodeId> values;
    values.reserve(classes.size() + 1);
    for (const auto& [name, value] : classes) values.push_back(node(value == kAlways ? kFree : value));
    const bool is_open = !reading.has_others || reading.others != kNever;
    if (is_open) values.push_back(node(reading.others));
    begin(id);
    words_.push_back(gd::Node::kMembers);
    words_.push_back(static_cast<uint32_t>(classes.size()));
    for (const auto& [name, value] : classes) {
      words_.push_back(kNone);  // no rank
      words_.push_back(static_cast<uint32_t>(name.size()));
      blob_.append(name);
    }
    words_.push_back(is_open ? 1 : 0);
    if (is_open) words_.push_back(setting_.every_key);  // which every grammar begins with
    words_.push_back(static_cast<uint32_t>(required.ids.size()));
    words_.insert(words_.end(), required.ids.begin(), required.ids.end());
    words_.insert(words_.end(), {0, kNone});
    for (const NodeId value : values) add_pick(value);
    words_.insert(words_.end(), {0, kTrue});
    end(id);
  }

  void define_array(NodeId id, Literal literal) {
    const Reading& reading = said_by(literal);
    const uint32_t low = reading.min_items;
    check_array(reading);
    const NodeId item = node(reading.items);
    if (item == kNoNode && low > 0) throw NotEveryday{};
    const uint32_t high = item == kNoNode ? kNone : reading.max_items;
    const bool unique = reading.unique_items && item != kNoNode && high > 1;
    begin(id);
    words_.insert(words_.end(), {gd::Node::kElements, unique ? 1u : 0u, 0, low, high});
    add_pick(item);
    words_.insert(words_.end(), {0, kTrue});
    end(id);
  }

  // ---- scalars ----

  std::optional<RegexId> scalar(uint32_t type, Literal literal) {
    const Reading& reading = said_by(literal);
    if (type == kNull) return setting_.null;
    if (type == kBoolean) {
      if (reading.truths == 3) return setting_.booleans;
      if (reading.truths == 0) return std::nullopt;
      return regexes_.literals({reading.truths == 2 ? "true" : "false"});
    }
    const Claim* only = nullptr;
    size_t count = 0;
    for (const Claim& claim : reading.claims) {
      if (claim.type != type) continue;
      only = &claim;
      ++count;
    }
    if (count == 0) return type == kNumber ? setting_.numbers : setting_.strings;
    if (type == kNumber && count == 1 && reading.is_integer) return setting_.integers;
    if (type == kString && count == 1 && setting_.texts_are_literal) {
      if (const std::optional<RegexId> texts = given_texts(*only); texts) return texts;
    }
    return asked(type, Source{Source::kSaid, literal});
  }

  // The language of an enumeration, if its strings are spelled as they are.
  std::optional<RegexId> given_texts(const Claim& claim) {
    const std::string_view keyword = text_of(claim.keyword.ptr());
    if (keyword != "enum" && keyword != "const") return std::nullopt;
    PyObject* argument = claim.argument.ptr();
    std::vector<std::string_view> texts;
    const Py_ssize_t size = keyword == "enum" ? PyList_Size(argument) : 1;
    for (Py_ssize_t i = 0; i < size; ++i) {
      PyObject* value = keyword == "enum" ? PyList_GetItem(argument, i) : argument;
      if (!PyUnicode_CheckExact(value)) continue;
      texts.push_back(text_of(value));
      if (!is_plain(texts.back())) return std::nullopt;
    }
    const RegexId body = regexes_.literals(std::move(texts));
    return regexes_.concat(std::vector<RegexId>{setting_.quote, body, setting_.quote});
  }

  // What is said of the type: as a key, and as a schema.
  nb::object said_of(uint32_t type, const Source& from, std::string& key) {
    if (from.kind == Source::kAnything) {
      key.push_back('*');
      return nb::bool_(true);
    }
    nb::dict said;
    if (from.kind == Source::kAlternatives) {
      nb::list alternatives;
      key.push_back(from.exactly_one ? '1' : '+');
      add_word(key, from.alternatives.size());
      for (const Source& alternative : from.alternatives) alternatives.append(said_of(type, alternative, key));
      said[from.exactly_one ? "oneOf" : "anyOf"] = alternatives;
      return said;
    }
    key.push_back('.');
    for (const Claim& claim : read(from.literal).claims) {
      if (claim.type != type) continue;
      key.push_back(',');
      add_claim(key, claim);
      said[claim.keyword] = claim.argument;
    }
    return said;
  }

  // Any other language is made by the front end in Python, once in a process.
  RegexId asked(uint32_t type, const Source& from) {
    std::string key(1, static_cast<char>(type));
    const nb::object said = said_of(type, from, key);
    const auto known = setting_.languages.find(key);
    if (known != setting_.languages.end()) return regexes_.put(known->second);
    const nb::object language = setting_.scalar(type, said);
    if (language.is_none()) throw NotEveryday{};
    gd::EncodedRegexes encoded = encoded_regexes(language);
    const RegexId id = regexes_.put(encoded);
    const size_t bytes = 256 + key.size() + encoded.blob.size() + encoded.words.size() * sizeof(uint32_t);
    if (setting_.language_bytes + bytes > Setting::kMostBytes) {
      setting_.languages.clear();
      setting_.language_bytes = 0;
    }
    setting_.language_bytes += bytes;
    setting_.languages.emplace(std::move(key), std::move(encoded));
    return id;
  }

  // ---- bytes ----

  nb::bytes encoded(NodeId root) {
    std::vector<uint32_t> head = setting_.spacing;
    head.push_back(regexes_.size());
    size_t num_words = head.size() + setting_.beginning.words.size() + regexes_.words().size() + 2;
    size_t blob_size = setting_.spacing_blob.size() + setting_.beginning.blob.size() + regexes_.blob().size();
    for (const NodeWords& node : nodes_) {
      num_words += node.end - node.begin;
      blob_size += node.blob_end - node.blob_begin;
    }
    std::string out;
    out.reserve(16 + num_words * sizeof(uint32_t) + blob_size);
    const auto add = [&](const uint32_t* words, size_t count) {
      out.append(reinterpret_cast<const char*>(words), count * sizeof(uint32_t));
    };
    const auto add_one = [&](size_t word) {
      const auto value = static_cast<uint32_t>(word);
      add(&value, 1);
    };
    out.append("GDIR");
    add_one(gd::kFormatVersion);
    add_one(num_words);
    add_one(blob_size);
    add(head.data(), head.size());
    add(setting_.beginning.words.data(), setting_.beginning.words.size());
    add(regexes_.words().data(), regexes_.words().size());
    add_one(nodes_.size());
    for (const NodeWords& node : nodes_) add(words_.data() + node.begin, node.end - node.begin);
    add_one(root);
    out.append(setting_.spacing_blob);
    out.append(setting_.beginning.blob);
    out.append(regexes_.blob());
    for (const NodeWords& node : nodes_) out.append(blob_, node.blob_begin, node.blob_end - node.blob_begin);
    return nb::bytes(out.data(), out.size());
  }

  Setting& setting_;
  nb::dict keywords_;
  nb::str id_keyword_, reference_keyword_, properties_keyword_;
  bool hides_siblings_;
  nb::object root_;
  gd::RegexTable regexes_;
  std::deque<Schema> schemas_;                      // in which references stay valid
  std::unordered_map<PyObject*, Literal> numbers_;  // of schema objects, by identity
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
  nb::class_<Compilation>(m, "EverydayDocument", "One document, of which all or some schemas are everyday ones. Not thread-safe.")
      .def(
          "__init__",
          [](Compilation* self, Everyday& options, const nb::object& schema, const nb::dict& keywords, const nb::str& id_keyword,
             bool hides_siblings) { new (self) Compilation(options.setting(), keywords, id_keyword, hides_siblings, schema); },
          nb::arg("options"), nb::arg("schema"), nb::arg("keywords"), nb::arg("id_keyword"), nb::arg("hides_siblings"),
          nb::keep_alive<1, 2>())
      .def("compile", &Compilation::compile, "The grammar of the whole document, or None if it is no everyday one.")
      .def(
          "part",
          [](Compilation& self, const nb::object& schema, uint32_t depth) -> int64_t {
            try {
              const std::optional<NodeId> node = self.part(schema, depth);
              return !node ? -1 : *node == kNoNode ? -2 : int64_t{*node};
            } catch (const NotEveryday&) {
              return -3;
            }
          },
          nb::arg("schema"), nb::arg("depth"),
          "The node of a schema of the document; -1 if it, or one that it leads to, is no everyday one, -2 if no value satisfies "
          "it, -3 if "
          "all parts have become useless.")
      .def("appended", &Compilation::appended, nb::arg("first_regex"), nb::arg("first_node"),
           "The parts, to stand behind so many expressions and nodes: (expressions, words, blob, nodes, words, blob).")
      .def("schemas_of_nodes", &Compilation::schemas_of_nodes, nb::arg("first"),
           "By node of the parts: the schema that an object or array was made of, or the first that reads a node; or None.");
}
