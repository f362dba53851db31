// The grammar IR as the kernel holds it: what src/grammar_decode/ir/nodes.py defines, in flat structs.
// Immutable after read(); shared between threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "byte_set.h"

namespace gd {

using RegexId = uint32_t;
using NodeId = uint32_t;
using ClassId = uint32_t;

inline constexpr uint32_t kNone = 0xFFFFFFFF;  // "unbounded", "no rank"
inline constexpr uint32_t kFormatVersion = 3;  // of the bytes, see ir/encode.py

struct Regex {
  enum Kind : uint32_t {
    kByteClass,
    kConcatenation,
    kAlternation,
    kRepetition,
    kIntersection,
    kComplement,
    kLiteralSet,
    kAutomaton,
  };
  struct State {  // of a kAutomaton; state 0 is the start, a byte in none of the sets leads nowhere
    bool accepting = false;
    std::vector<std::pair<ByteSet, uint32_t>> transitions;
  };
  Kind kind{};
  ByteSet bytes;            // kByteClass
  uint32_t first_part = 0;  // in Grammar::regex_parts: the n-ary kinds; one part for kRepetition and kComplement
  uint32_t num_parts = 0;
  uint32_t minimum = 0;               // kRepetition
  uint32_t maximum = kNone;           // kRepetition
  std::vector<std::string> literals;  // kLiteralSet: sorted, distinct
  std::vector<State> states;          // kAutomaton
};

struct Claim {
  enum Kind : uint32_t { kMember, kSome, kMost, kHas, kLacks, kCountMin, kCountMax };
  Kind kind{};
  uint32_t count = 0;            // kSome, kMost, kCountMin, kCountMax
  std::vector<ClassId> classes;  // sorted; kHas and kLacks: the one class
};

// A formula as a tree in one array: `parts` index into the same array, children before parents.
struct FormulaNode {
  enum Kind : uint32_t { kFalse, kTrue, kClaim, kAnd, kOr };
  Kind kind{};
  uint32_t claim = 0;
  std::vector<uint32_t> parts;
};

struct Pick {
  NodeId node = 0;
  std::vector<uint32_t> claims;  // sorted
};

struct Node {
  enum Kind : uint32_t { kTerminal, kChoice, kMembers, kElements, kChain };
  Kind kind{};
  RegexId regex = 0;            // kTerminal
  std::vector<NodeId> choices;  // kChoice; kChain: its parts, at least one
  // kMembers
  std::vector<std::string> names;
  std::vector<uint32_t> ranks;
  std::vector<RegexId> patterns;
  std::vector<ClassId> required;
  // kElements
  uint32_t prefix = 0;
  bool unique = false;
  // both containers
  uint32_t min_count = 0;
  uint32_t max_count = kNone;
  std::vector<std::vector<Pick>> values;
  std::vector<Claim> claims;
  std::vector<FormulaNode> formula;  // the last one is the root

  uint32_t num_classes() const { return static_cast<uint32_t>(values.size()); }
};

struct Grammar {
  std::vector<Regex> regexes;
  std::vector<RegexId> regex_parts;  // of all of them, in one piece: a grammar has hundreds of small lists
  std::vector<Node> nodes;
  NodeId root = 0;
  std::vector<bool> nullable;  // which nodes match the empty text; empty where there are no chains
  uint32_t max_whitespace = kNone;
  std::string item_separator;
  std::string key_separator;

  std::span<const RegexId> parts(const Regex& r) const { return {regex_parts.data() + r.first_part, r.num_parts}; }
};

// Reads the byte format of ir/encode.py. Throws SerializationError on anything else: every count, id and offset is checked.
Grammar read_grammar(std::string_view data);

}  // namespace gd
