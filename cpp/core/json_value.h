// Values of JSON texts, hash-consed: what `uniqueItems` compares. ir/nodes.py (Elements) says what the value of a text is.
//
// Not thread-safe: the owner (Automaton) holds a lock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hashing.h"

namespace gd {

using ValueId = uint32_t;
using ListId = uint32_t;  // a list of value ids

// How far a JSON string has been read.
struct StringPrefix {
  bool valid = false;   // no string begins like this
  bool closed = false;  // the closing quote has been read, and nothing behind it
  std::string text;     // the complete characters
  std::string pending;  // the bytes of an escape that has begun (with the first half of a surrogate pair)
};
StringPrefix read_string(std::string_view text);

// How far a JSON number has been read.
struct NumberPrefix {
  bool valid = false;     // no number begins like this
  bool complete = false;  // it may end here
  bool negative = false;
  bool has_exponent = false;
  std::string digits;  // of the mantissa, without zeros in front
  int64_t scale = 0;   // value = digits * 10**(exponent - scale)
  bool exponent_negative = false;
  std::string exponent_digits;  // without zeros in front
};
NumberPrefix read_number(std::string_view text);

// How far a scalar has been read, in every way to look at it.
struct ScalarPrefix {
  explicit ScalarPrefix(std::string read) : text(std::move(read)), string(read_string(text)), number(read_number(text)) {}
  std::string text;
  StringPrefix string;
  NumberPrefix number;
};

class ValuePool {
 public:
  enum class Kind : uint8_t {
    kText,    // any other text, and the key of a member: its bytes
    kString,  // a JSON string: the characters as UTF-8 (a lone surrogate as three bytes)
    kNumber,  // a JSON number: sign, digits without zeros at either end, "e", exponent; "0"
    kArray,   // parts: the items
    kObject,  // parts: key, value, key, value ..., by increasing key id
  };
  struct Value {
    Kind kind = Kind::kText;
    std::string text;
    std::vector<ValueId> parts;
    bool operator==(const Value&) const = default;
  };
  static constexpr ListId kNoValues = 0;  // the empty list

  ValuePool();
  const Value& operator[](ValueId id) const { return values_[id]; }
  ValueId scalar(std::string_view text);  // the value of a complete scalar
  ValueId key(std::string_view text);
  ValueId array(ListId items);
  ValueId object(ListId members);

  // Whether a scalar that begins so may have the value. True may be wrong (an exponent can shift any digits); false is right.
  bool may_become(ValueId value, const ScalarPrefix& read) const;

  // Lists: of items in order, of members (key, value) by key, of used values by id.
  const std::vector<ValueId>& list(ListId id) const { return lists_[id]; }
  ListId intern_list(std::vector<ValueId> list);
  ListId appended(ListId list, ValueId value);
  ListId with_member(ListId members, ValueId key, ValueId value);  // the key is new
  ListId with_value(ListId sorted, ValueId value);                 // of a list sorted by id
  static bool contains(const std::vector<ValueId>& sorted, ValueId value);
  // The value of `key` in a list of members, or kAbsent.
  static constexpr ValueId kAbsent = 0xFFFFFFFF;
  static ValueId member(const std::vector<ValueId>& members, ValueId key);

  size_t memory_bytes() const { return memory_bytes_ + index_.memory_bytes() + list_index_.memory_bytes(); }

 private:
  ValueId intern(Value value);

  std::vector<Value> values_;
  HashIndex index_;
  std::vector<std::vector<ValueId>> lists_;
  HashIndex list_index_;
  size_t memory_bytes_ = 0;
};

}  // namespace gd
