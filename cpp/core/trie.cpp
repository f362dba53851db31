#include "trie.h"

#include <algorithm>
#include <bit>

namespace gd {
namespace {

using Entry = std::pair<std::string_view, TokenId>;

// Sorts by text, then by token. Nearly all comparisons are settled by the first eight bytes as one number.
void sort_entries(std::vector<Entry>& entries) {
  struct Key {
    uint64_t first;  // the first bytes, big end first, then zeros
    uint32_t index;
  };
  std::vector<Key> keys(entries.size());
  for (uint32_t i = 0; i < entries.size(); ++i) {
    const std::string_view text = entries[i].first;
    uint64_t first = 0;
    for (size_t k = 0; k < 8; ++k) first = first << 8 | (k < text.size() ? static_cast<uint8_t>(text[k]) : 0);
    keys[i] = {first, i};
  }
  std::sort(keys.begin(), keys.end(), [&](const Key& a, const Key& b) {
    return a.first != b.first ? a.first < b.first : entries[a.index] < entries[b.index];
  });
  std::vector<Entry> sorted;
  sorted.reserve(entries.size());
  for (const Key& key : keys) sorted.push_back(entries[key.index]);
  entries = std::move(sorted);
}

}  // namespace

void Trie::open(uint8_t byte, uint32_t depth) {
  Node node;
  node.byte = byte;
  node.depth = static_cast<uint16_t>(depth);
  node.first_token = num_tokens();
  nodes_.push_back(node);
}

void Trie::finish() {
  if (nodes_.empty()) return;
  Node last;
  last.first_token = num_tokens();
  nodes_.push_back(last);
  nodes_.shrink_to_fit();
  constexpr uint32_t kLarge = 1000;
  if (size() < kLarge) return;
  roots_.assign(256, kNone);
  for (uint32_t i = 0; i < size(); i = end(i)) roots_[byte(i)] = i;
}

Trie Trie::build(std::vector<std::pair<std::string_view, TokenId>> entries) {
  sort_entries(entries);
  Trie trie;
  trie.tokens_.reserve(entries.size());
  std::vector<uint32_t> path_nodes;
  std::string_view path;
  const auto close = [&](size_t depth) {
    for (; path_nodes.size() > depth; path_nodes.pop_back()) {
      trie.nodes_[path_nodes.back()].end = static_cast<uint32_t>(trie.nodes_.size());
    }
  };
  for (const auto& [text, token] : entries) {
    if (text.empty()) continue;
    size_t common = 0;
    while (common < path.size() && common < text.size() && path[common] == text[common]) ++common;
    close(common);
    for (size_t depth = common; depth < text.size(); ++depth) {
      path_nodes.push_back(static_cast<uint32_t>(trie.nodes_.size()));
      trie.open(static_cast<uint8_t>(text[depth]), static_cast<uint32_t>(depth));
    }
    trie.tokens_.push_back(token);
    trie.max_depth_ = std::max(trie.max_depth_, static_cast<uint32_t>(text.size()));
    path = text;
  }
  close(0);
  trie.finish();
  return trie;
}

Trie Trie::merge(std::vector<Place> places, const uint32_t* without) {
  struct Child {
    Place place;
    uint8_t byte;
  };
  struct Level {  // the children of one node of the result: children[begin, end) of the pool, sorted by byte
    size_t begin;
    size_t next;
    uint32_t node;  // of the result
  };
  Trie trie;
  std::vector<Child> pool;
  std::vector<Level> levels;
  const auto push_level = [&](uint32_t node) {
    const size_t begin = pool.size();
    for (const Place& place : places) {
      const Trie& from = *place.trie;
      for (uint32_t i = place.node + 1; i < from.end(place.node); i = from.end(i)) pool.push_back({{&from, i}, from.byte(i)});
    }
    if (places.size() > 1) {  // the children of one node are sorted
      std::stable_sort(pool.begin() + static_cast<std::ptrdiff_t>(begin), pool.end(),
                       [](const Child& a, const Child& b) { return a.byte < b.byte; });
    }
    levels.push_back({begin, begin, node});
  };
  push_level(kNone);
  while (!levels.empty()) {
    Level& level = levels.back();
    if (level.next == pool.size()) {
      const Level done = level;
      levels.pop_back();
      pool.resize(done.begin);
      if (done.node == kNone) continue;
      Node& node = trie.nodes_[done.node];
      if (node.first_token == trie.num_tokens()) {  // nothing was left below
        trie.nodes_.resize(done.node);
      } else {
        node.end = static_cast<uint32_t>(trie.nodes_.size());
      }
      continue;
    }
    const uint8_t byte = pool[level.next].byte;
    const uint32_t node = static_cast<uint32_t>(trie.nodes_.size());
    const uint32_t depth = static_cast<uint32_t>(levels.size() - 1);
    trie.open(byte, depth);
    places.clear();
    for (; level.next < pool.size() && pool[level.next].byte == byte; ++level.next) {
      const Place place = pool[level.next].place;
      const Trie& from = *place.trie;
      for (uint32_t t = from.first_token(place.node); t < from.first_token(place.node + 1); ++t) {
        if (without == nullptr || !has_token(without, from.token(t))) trie.tokens_.push_back(from.token(t));
      }
      if (from.end(place.node) != place.node + 1) places.push_back(place);
    }
    if (trie.num_tokens() != trie.nodes_[node].first_token) trie.max_depth_ = std::max(trie.max_depth_, depth + 1);
    push_level(node);  // `level` dangles from here on
  }
  trie.finish();
  return trie;
}

void Trie::find_groups() {
  struct State {
    Utf8State utf8;
    bool malformed = false;
  };
  std::vector<State> states(max_depth_ + 1);
  for (uint32_t i = 0; i < size(); ++i) {
    State state = states[depth(i)];
    const GroupSet group = state.malformed ? kSpecialGroup : step_utf8(state.utf8, byte(i));
    const bool is_ascii = byte(i) < 0x80 && group == kAsciiGroups[byte(i)];
    state.malformed = state.malformed || (group == kSpecialGroup && !is_ascii);
    nodes_[i].kind = is_ascii && !state.malformed ? 0 : static_cast<uint8_t>(std::countr_zero(group) + 1);
    nodes_[i].groups = group;
    states[depth(i) + 1] = state;
  }
  for (uint32_t i = size(); i-- > 0;) {  // children have been summed up before their parent
    GroupSet below = 0;
    for (uint32_t child = i + 1; child < end(i); child = end(child)) below |= groups(child);
    nodes_[i].groups |= below;
  }
}

uint32_t Trie::find(std::string_view path) const {
  uint32_t low = 0;
  uint32_t high = size();
  uint32_t node = size();
  for (const char c : path) {
    const uint8_t wanted = static_cast<uint8_t>(c);
    node = size();
    if (low == 0 && !roots_.empty()) {
      if (roots_[wanted] != kNone) node = roots_[wanted];
    } else {
      for (uint32_t i = low; i < high && byte(i) <= wanted; i = end(i)) {
        if (byte(i) == wanted) node = i;
      }
    }
    if (node == size()) return node;
    low = node + 1;
    high = end(node);
  }
  return node;
}

size_t Trie::memory_bytes() const { return nodes_.capacity() * sizeof(Node) + 4 * (tokens_.capacity() + roots_.capacity()); }

}  // namespace gd
