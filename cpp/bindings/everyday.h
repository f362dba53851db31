// Everyday schemas straight to the byte format of the IR: types, properties, required, items, references, enumerations, scalars.
//
// What a schema means is said in src/grammar_decode/json_schema, and nowhere else. This is a second, faster way to the same grammar for
// documents in which every value is described by one schema object: nothing is combined, so there are no formulas. Alternatives are
// taken where they differ by type, and among strings and numbers. Whatever is not certainly of that kind (any other applicator, a wrong
// argument, two things said of one member) is left to the other way: NotEveryday is thrown, and compile() says None.
// tests/unit/test_everyday.py compares the two. The nodes are the same, in the same order; of the regular expressions only those are
// written that are used.
//
// Here: what its stages share. In the order in which they read one another:
//   everyday_values.h  values of Python, and how they are written in keys
//   everyday_reader.h  what each schema object says
//   everyday_source.h  what is said of the values of one type, and which schemas are everyday ones
//   everyday_writer.h  nodes and expressions, and their bytes
//   bind_everyday.cpp  one document, as src/grammar_decode/everyday.py sees it
// All hold the interpreter's lock.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/regex_table.h"

namespace gd::everyday {

namespace nb = nanobind;

// This is left to the other way.
struct NotEveryday {};

// JSON types, as in claims.py.
constexpr uint32_t kNull = 1, kBoolean = 2, kNumber = 4, kString = 8, kArray = 16, kObject = 32, kEveryType = 63;

// A schema of the document, and the two that are no objects. kFree: nothing was said at all.
using Literal = uint32_t;
constexpr Literal kNever = 0, kAlways = 1, kFirstSchema = 2, kFree = 0xFFFFFFFE, kNoLiteral = 0xFFFFFFFF;

inline bool is_schema(Literal literal) { return literal >= kFirstSchema && literal < kFree; }

// The same for all schemas that are compiled with equal options.
struct Setting {
  EncodedRegexes beginning;
  RegexTable seed;
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
  std::unordered_map<std::string, EncodedRegexes> languages;
  size_t language_bytes = 0;
};

}  // namespace gd::everyday
