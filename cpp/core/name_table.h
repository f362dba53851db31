// What the tokens of a trie do at a place among the names of an object: computed once for each place, whatever has been read of the object.
//
// Which names may still come differs from state to state and is a bit test (Containers::Menu); how tokens spell them does not.
// Immutable after construction.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trie.h"

namespace gd {

// The sorted names that begin with a text of `depth` bytes: names[low] .. names[high - 1].
struct NameRange {
  uint32_t low = 0;
  uint32_t high = 0;
  uint32_t depth = 0;
  bool empty() const { return low == high; }
};

// The names of `range` whose next byte is `byte`. Logarithmic in the number of names.
NameRange narrow(const std::vector<std::string_view>& names, const NameRange& range, uint8_t byte);

struct NameTable {
  struct Inside {  // the token ends within a key: allowed if one of these names is
    uint32_t low = 0;
    uint32_t high = 0;
    uint32_t depth = 0;  // bytes of the name that have been written then
    TokenId token = 0;
  };
  struct Exit {          // tokens that complete a name and its closing quote
    uint32_t name = 0;   // index in the sorted names
    uint32_t quote = 0;  // node of the trie: they end right behind the quote, or go on below it
  };
  std::vector<Inside> inside;
  std::vector<Exit> exits;

  // `before_quote`: the opening quote is still to come (and `range` is all names).
  NameTable(const Trie& trie, const std::vector<std::string_view>& names, const NameRange& range, bool before_quote);
  size_t memory_bytes() const;
};

}  // namespace gd
