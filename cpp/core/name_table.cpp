#include "name_table.h"

#include <algorithm>
#include <map>

namespace gd {

NameRange narrow(const std::vector<std::string_view>& names, const NameRange& range, uint8_t byte) {
  if (range.empty()) return {};
  const auto begin = names.begin() + range.low + (names[range.low].size() == range.depth ? 1 : 0);  // not the name that ends here
  const auto end = names.begin() + range.high;
  const auto next = [&](std::string_view name) { return static_cast<uint8_t>(name[range.depth]); };
  const auto first = std::lower_bound(begin, end, byte, [&](std::string_view name, uint8_t b) { return next(name) < b; });
  const auto last = std::upper_bound(first, end, byte, [&](uint8_t b, std::string_view name) { return b < next(name); });
  if (first == last) return {};
  return {static_cast<uint32_t>(first - names.begin()), static_cast<uint32_t>(last - names.begin()), range.depth + 1};
}

NameTable::NameTable(const Trie& trie, const Vocabulary& vocabulary, const std::vector<std::string_view>& names,
                     const NameRange& range, bool before_quote) {
  struct Found {
    std::vector<TokenId> tokens;
    std::vector<std::pair<std::string_view, TokenId>> rests;
  };
  std::map<uint32_t, Found> found;
  struct Place {
    NameRange range;
    bool in_key = false;
  };
  std::vector<Place> places(trie.max_depth() + 1);
  places[0] = {range, !before_quote};
  for (uint32_t i = 0; i < trie.size();) {
    const uint32_t depth = trie.depth(i);
    const uint8_t byte = trie.byte(i);
    const Place from = places[depth];
    Place to;
    to.in_key = true;
    if (!from.in_key) {
      if (byte == '"') to.range = from.range;
    } else {
      if (byte == '"' && names[from.range.low].size() == from.range.depth) {
        Found& exit = found[from.range.low];
        for (uint32_t t = trie.first_token(i); t < trie.first_token(i + 1); ++t) exit.tokens.push_back(trie.token(t));
        for (uint32_t below = i + 1; below < trie.end(i); ++below) {
          for (uint32_t t = trie.first_token(below); t < trie.first_token(below + 1); ++t) {
            const std::string_view text = vocabulary.text(trie.token(t));
            exit.rests.emplace_back(text.substr(text.size() - (trie.depth(below) - depth)), trie.token(t));
          }
        }
      }
      to.range = narrow(names, from.range, byte);
    }
    if (to.range.empty()) {
      i = trie.end(i);
      continue;
    }
    for (uint32_t t = trie.first_token(i); t < trie.first_token(i + 1); ++t) {
      inside.push_back({to.range.low, to.range.high, trie.token(t)});
    }
    places[depth + 1] = to;
    ++i;
  }
  for (auto& [name, exit] : found) exits.push_back({name, std::move(exit.tokens), Trie::build(std::move(exit.rests))});
}

size_t NameTable::memory_bytes() const {
  size_t bytes = sizeof(NameTable) + inside.capacity() * sizeof(Inside);
  for (const Exit& exit : exits) bytes += sizeof(Exit) + exit.tokens.capacity() * sizeof(TokenId) + exit.rests.memory_bytes();
  return bytes;
}

}  // namespace gd
