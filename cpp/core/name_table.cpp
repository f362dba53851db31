#include "name_table.h"

#include <algorithm>

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

namespace {

// The bytes that may follow at a place among the names.
ByteSet next_bytes(const std::vector<std::string_view>& names, const NameRange& range) {
  ByteSet bytes;
  for (uint32_t s = range.low; s < range.high; ++s) {
    bytes.insert(names[s].size() == range.depth ? uint8_t{'"'} : static_cast<uint8_t>(names[s][range.depth]));
  }
  return bytes;
}

}  // namespace

NameTable::NameTable(const Trie& trie, const std::vector<std::string_view>& names, const NameRange& range, bool before_quote) {
  struct Place {
    NameRange range;
    ByteSet bytes;
    bool in_key = false;
  };
  std::vector<Place> places(1);  // grows with the names, which are mostly shorter than the longest token
  ByteSet first = next_bytes(names, range);
  if (before_quote) {
    first = {};
    first.insert('"');
  }
  places[0] = {range, first, !before_quote};
  trie.for_each_root(first, [&](uint32_t i, uint32_t end) {
    while (i < end) {
      const uint32_t depth = trie.depth(i);
      const uint8_t byte = trie.byte(i);
      const Place& from = places[depth];
      if (!from.bytes.contains(byte)) {
        i = trie.end(i);
        continue;
      }
      if (from.in_key && byte == '"' && names[from.range.low].size() == from.range.depth) exits.push_back({from.range.low, i});
      const NameRange to = from.in_key ? narrow(names, from.range, byte) : from.range;
      if (to.empty()) {
        i = trie.end(i);
        continue;
      }
      for (uint32_t t = trie.first_token(i); t < trie.first_token(i + 1); ++t) {
        inside.push_back({to.low, to.high, to.depth, trie.token(t)});
      }
      if (trie.end(i) != i + 1) {
        if (places.size() < depth + 2) places.resize(depth + 2);
        places[depth + 1] = {to, next_bytes(names, to), true};
      }
      ++i;
    }
  });
  std::sort(exits.begin(), exits.end(), [](const Exit& a, const Exit& b) { return a.name < b.name; });
  inside.shrink_to_fit();
  exits.shrink_to_fit();
}

size_t NameTable::memory_bytes() const {
  return sizeof(NameTable) + inside.capacity() * sizeof(Inside) + exits.capacity() * sizeof(Exit);
}

}  // namespace gd
