// What is said of the values of one type, behind references and alternatives; and which schemas are everyday ones.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "bindings/everyday.h"
#include "bindings/everyday_reader.h"

namespace gd::everyday {

// Where a schema says what it says of the values of one type.
struct Source {
  enum Kind { kNothing, kAnything, kSaid, kAlternatives };
  Kind kind = kNothing;                   // kNothing: no value of the type
  Literal literal = kFree;                // kSaid: the schema
  std::vector<Source> alternatives = {};  // of numbers or strings
  bool exactly_one = false;
};

// Behind references. Throws NotEveryday, as all below.
Literal target_of(Reader& reader, Literal literal);

Source source_of(Reader& reader, Literal literal, uint32_t type);

// Which classes of an object are required. Names that are required and not declared are classes behind the declared ones.
struct Required {
  std::vector<uint32_t> ids;
  std::vector<std::string_view> undeclared;  // of the reading
};
Required required_by(const Reading& reading);

void check_array(const Reading& reading);

// Which schemas are everyday ones, and lead to no others. Each schema is looked at once.
class Closure {
 public:
  explicit Closure(Reader& reader) : reader_(reader) {}

  bool has(Literal literal);

 private:
  enum class State : uint8_t { kUnknown, kOpen, kClosed };

  State& state(Literal literal);
  void decide(Literal start);
  bool leads_to(Literal literal, std::vector<Literal>& next);

  Reader& reader_;
  std::vector<State> states_;  // by schema
};

}  // namespace gd::everyday
