// A map with a limit in bytes that forgets what was not asked for lately: two generations, of which the older one goes when the younger
// is full. Finding costs what it costs in a hash map, and nothing keeps an order of use.
//
// Not thread-safe. Values are small handles (shared pointers): what is forgotten lives on with whoever holds it.
#pragma once

#include <cstddef>
#include <functional>
#include <unordered_map>
#include <utility>

namespace gd {

template <class Key, class Value, class Hasher = std::hash<Key>>
class RecentCache {
 public:
  // Null if it is not there. The pointer is valid until the cache changes.
  const Value* find(const Key& key) {
    if (const auto found = young_.find(key); found != young_.end()) return &found->second.value;
    const auto found = old_.find(key);
    if (found == old_.end()) return nullptr;
    auto node = old_.extract(found);
    Entry& entry = node.mapped();
    old_bytes_ -= entry.bytes;
    entry.bytes += entry.held_bytes;
    entry.held_bytes = 0;
    young_bytes_ += entry.bytes;
    return &young_.insert(std::move(node)).position->second.value;
  }
  // `bytes`: what it takes; `held_bytes`: of other things that it keeps alive when they are forgotten elsewhere.
  void add(const Key& key, Value value, size_t bytes, size_t held_bytes = 0) {
    constexpr size_t kNodeBytes = 32;  // of the map
    bytes += sizeof(Key) + sizeof(Entry) + kNodeBytes;
    if (young_.emplace(key, Entry{std::move(value), bytes, held_bytes}).second) young_bytes_ += bytes;
  }
  void age() {
    old_ = std::move(young_);
    old_bytes_ = young_bytes_;
    young_ = {};
    young_bytes_ = 0;
  }
  void clear() {
    age();
    age();
  }
  size_t young_bytes() const { return young_bytes_; }
  size_t bytes() const { return young_bytes_ + old_bytes_; }

 private:
  struct Entry {
    Value value;
    size_t bytes;
    size_t held_bytes;
  };
  std::unordered_map<Key, Entry, Hasher> young_, old_;
  size_t young_bytes_ = 0;
  size_t old_bytes_ = 0;
};

}  // namespace gd
