// What the core throws. The bindings map each to the Python exception of the same purpose.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace gd {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct SerializationError : Error {  // bytes that are not a grammar
  using Error::Error;
};
struct VocabularyError : Error {
  using Error::Error;
};
struct MatcherError : Error {  // a call that can't be taken; the state is unchanged
  using Error::Error;
};
struct BitmaskError : Error {
  using Error::Error;
};
struct UnsatisfiableError : Error {  // the language is empty, or empty with this vocabulary
  using Error::Error;
};
// A work limit was passed; `limit` names the field of Limits, `node` the node of the grammar where that is known.
struct LimitError : Error {
  LimitError(std::string limit_name, const std::string& message) : Error(message), limit(std::move(limit_name)) {}
  std::string limit;
  std::optional<uint32_t> node;
};

}  // namespace gd
