// Tokens (or what is left of them) as a prefix trie in depth-first order: one forward scan with skips visits any part of it.
// Immutable after construction.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "byte_groups.h"
#include "byte_set.h"
#include "token_mask.h"

namespace gd {

using TokenId = uint32_t;

// Node i has the byte that leads to it, the depth of its parent, the index just behind its subtree, and the range
// [first_token(i), first_token(i + 1)) of tokens that end at it. The tokens of its subtree are [first_token(i), first_token(end(i))),
// contiguous too.
class Trie {
 public:
  struct Place {  // a node of a trie
    const Trie* trie = nullptr;
    uint32_t node = 0;
  };

  // `entries`: byte strings with their tokens; any order, repeats allowed. Empty strings are left out.
  static Trie build(std::vector<std::pair<std::string_view, TokenId>> entries);
  // What is below the places, as one trie, without the tokens that are set in `without` (may be null). Linear in the size of what is below.
  static Trie merge(std::vector<Place> places, const uint32_t* without);

  uint32_t size() const { return nodes_.empty() ? 0 : static_cast<uint32_t>(nodes_.size() - 1); }
  uint8_t byte(uint32_t i) const { return nodes_[i].byte; }
  uint32_t depth(uint32_t i) const { return nodes_[i].depth; }
  uint32_t end(uint32_t i) const { return nodes_[i].end; }
  uint32_t first_token(uint32_t i) const { return nodes_[i].first_token; }  // i <= size()
  TokenId token(uint32_t position) const { return tokens_[position]; }
  uint32_t num_tokens() const { return static_cast<uint32_t>(tokens_.size()); }
  uint32_t max_depth() const { return max_depth_; }

  // The groups of all characters in the subtree, the node's own included, and its own alone. A text begins at a character.
  // Only after find_groups.
  GroupSet groups(uint32_t i) const { return nodes_[i].groups; }
  GroupSet own_group(uint32_t i) const {
    return nodes_[i].kind != 0 ? GroupSet{1} << (nodes_[i].kind - 1) : kAsciiGroups[nodes_[i].byte];
  }
  void find_groups();

  // Calls visit(begin, end) for the subtree of each first byte in `bytes`, in increasing order.
  template <class Visit>
  void for_each_root(const ByteSet& bytes, Visit visit) const {
    if (roots_.empty()) {
      for (uint32_t i = 0; i < size(); i = end(i)) {
        if (bytes.contains(byte(i))) visit(i, end(i));
      }
      return;
    }
    bytes.for_each([&](uint8_t b) {
      if (const uint32_t i = roots_[b]; i != kNone) visit(i, end(i));
    });
  }
  // The node that `byte` leads to, from the root or from node i; size() if there is none.
  uint32_t first_child(uint8_t byte) const {
    if (!roots_.empty()) return roots_[byte] == kNone ? size() : roots_[byte];
    return sibling(0, size(), byte);
  }
  uint32_t child(uint32_t i, uint8_t byte) const { return sibling(i + 1, end(i), byte); }
  // The node at the end of `path`; size() if there is none.
  uint32_t find(std::string_view path) const;
  size_t memory_bytes() const;

 private:
  static constexpr uint32_t kNone = 0xFFFFFFFF;
  struct Node {  // together: a scan with skips touches one cache line a node
    GroupSet groups = 0;
    uint32_t end = 0;
    uint32_t first_token = 0;
    uint16_t depth = 0;
    uint8_t byte = 0;
    uint8_t kind = 0;  // 0: an ASCII character; else the number of its group, plus one
  };

  uint32_t sibling(uint32_t i, uint32_t last, uint8_t byte) const {
    while (i < last && nodes_[i].byte != byte) i = nodes_[i].end;
    return i < last ? i : size();
  }
  void open(uint8_t byte, uint32_t depth);
  void finish();

  std::vector<Node> nodes_;  // and one behind the last, for its first_token
  std::vector<TokenId> tokens_;
  std::vector<uint32_t> roots_;  // by byte; only for large tries
  uint32_t max_depth_ = 0;
};

// Sets the bits of the tokens at positions [first, last).
inline void set_tokens(const Trie& trie, uint32_t first, uint32_t last, uint32_t* mask) {
  for (uint32_t t = first; t < last; ++t) set_token(mask, trie.token(t));
}

}  // namespace gd
