// What a text costs: its bytes, or the fewest tokens that spell it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "trie.h"

namespace gd {

using Cost = uint32_t;
inline constexpr Cost kFar = Cost{1} << 30;  // none known; whatever is added to it

inline Cost plus(Cost a, Cost b) { return a >= kFar || b >= kFar ? kFar : std::min(a + b, kFar); }
inline Cost times(uint64_t count, Cost cost) {
  if (count > 0 && cost >= kFar) return kFar;
  return static_cast<Cost>(std::min<uint64_t>(count * cost, kFar));
}

class TextCost {
 public:
  explicit TextCost(const Trie* tokens) : tokens_(tokens) {}  // null: bytes

  // Goes from right to left over `text`: costs[i], where it is kFar, becomes the cost of what stands from position i on, when
  // costs[text.size()] is that of what follows. Where costs[i] is less it is known, and stays.
  void complete(std::string_view text, std::vector<Cost>& costs) const { complete(text, costs.data()); }
  void complete(std::string_view text, Cost* costs) const {
    for (size_t i = text.size(); i-- > 0;) {
      if (costs[i] >= kFar) costs[i] = best(text, i, costs);
    }
  }
  // The cost of `text` before what costs `rest`.
  Cost before(std::string_view text, Cost rest) const {
    if (rest >= kFar) return kFar;
    std::vector<Cost> costs(text.size() + 1, kFar);
    costs[text.size()] = rest;
    complete(text, costs);
    return costs[0];
  }
  Cost of(std::string_view text) const { return before(text, 0); }

  // The length of the first token of the cheapest way from position i.
  size_t first_step(std::string_view text, size_t i, const std::vector<Cost>& costs) const {
    size_t length = 1;
    Cost least = kFar;
    visit(text, i, [&](size_t end) {
      if (costs[end] >= least) return;
      least = costs[end];
      length = end - i;
    });
    return length;
  }

 private:
  Cost best(std::string_view text, size_t i, const Cost* costs) const {
    if (tokens_ == nullptr) return plus(1, costs[i + 1]);
    Cost least = kFar;
    visit(text, i, [&](size_t end) { least = std::min(least, costs[end]); });
    return plus(1, least);
  }
  // Calls found(end) for each token that is text[i, end).
  template <class Found>
  void visit(std::string_view text, size_t i, Found found) const {
    if (tokens_ == nullptr) return found(i + 1);
    const Trie& trie = *tokens_;
    uint32_t node = trie.first_child(static_cast<uint8_t>(text[i]));
    for (size_t end = i + 1; node != trie.size(); ++end) {
      if (trie.first_token(node) < trie.first_token(node + 1)) found(end);
      if (end == text.size()) return;
      node = trie.child(node, static_cast<uint8_t>(text[end]));
    }
  }

  const Trie* tokens_;
};

// The fewest tokens that spell `text`, in order; false if none do.
inline bool fewest_tokens(const Trie& trie, std::string_view text, std::vector<TokenId>& ids) {
  const TextCost texts(&trie);
  std::vector<Cost> costs(text.size() + 1, kFar);
  costs.back() = 0;
  texts.complete(text, costs);
  if (costs[0] >= kFar) return false;
  for (size_t i = 0; i < text.size();) {
    const size_t length = texts.first_step(text, i, costs);
    ids.push_back(trie.token(trie.first_token(trie.find(text.substr(i, length)))));
    i += length;
  }
  return true;
}

}  // namespace gd
