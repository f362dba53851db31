// Maps with one limit in bytes that forget what was not asked for lately: two generations, of which the older one goes when the younger is
// half the limit. Finding costs what it costs in a hash map, and nothing keeps an order of use.
//
// Not thread-safe. Values are small handles (shared pointers): what is forgotten lives on with whoever holds it.
#pragma once

#include <cstddef>
#include <functional>
#include <unordered_map>
#include <utility>

namespace gd {

// What several caches may take together.
struct CacheBudget {
  size_t limit = 0;
  size_t young_bytes = 0;
  size_t old_bytes = 0;

  size_t bytes() const { return young_bytes + old_bytes; }
  size_t room() const { return limit > bytes() ? limit - bytes() : 0; }
  // Makes room for `needed` bytes, where `age` ages all caches of the budget. False if they are more than the limit.
  template <class Age>
  bool make_room(size_t needed, Age age) {
    if (needed > limit) return false;
    if (young_bytes + needed > limit / 2 && young_bytes > 0) {
      age();
      old_bytes = std::exchange(young_bytes, 0);
    }
    if (needed > room()) {
      age();
      old_bytes = std::exchange(young_bytes, 0);
    }
    return true;
  }
};

template <class Key, class Value, class Hasher = std::hash<Key>>
class RecentCache {
 public:
  explicit RecentCache(CacheBudget& budget) : budget_(budget) {}

  // What an entry of `bytes` bytes takes of the budget.
  static size_t cost(size_t bytes) {
    constexpr size_t kNodeBytes = 32;  // of the map
    return bytes + sizeof(Key) + sizeof(Entry) + kNodeBytes;
  }
  // Null if it is not there. The pointer is valid until the cache changes.
  const Value* find(const Key& key) {
    if (const auto found = young_.find(key); found != young_.end()) return &found->second.value;
    const auto found = old_.find(key);
    if (found == old_.end()) return nullptr;
    Entry& entry = found->second;
    if (entry.held_bytes > budget_.room()) return &entry.value;
    budget_.old_bytes -= entry.cost;
    entry.cost += std::exchange(entry.held_bytes, 0);
    budget_.young_bytes += entry.cost;
    return &young_.insert(old_.extract(found)).position->second.value;
  }
  // Where the budget has made room for `cost`. `held_bytes`: of what the value keeps alive when that is forgotten elsewhere.
  void add(const Key& key, Value value, size_t cost, size_t held_bytes = 0) {
    if (young_.emplace(key, Entry{std::move(value), cost, held_bytes}).second) budget_.young_bytes += cost;
  }
  void age() {
    old_ = std::move(young_);
    young_ = {};
  }

 private:
  struct Entry {
    Value value;
    size_t cost;
    size_t held_bytes;
  };
  CacheBudget& budget_;
  std::unordered_map<Key, Entry, Hasher> young_, old_;
};

}  // namespace gd
