// Hashing and interning: equal values get equal ids, so that everything above compares ids.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace gd {

inline uint64_t mix(uint64_t x) {  // the finalizer of SplitMix64 (Steele, Lea, Flood 2014)
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

inline uint64_t combine(uint64_t seed, uint64_t value) { return mix(seed * 0x9e3779b97f4a7c15ULL + value + 1); }

// A 128-bit content hash: names a regular expression across grammars, whatever ids its parts have there.
struct Hash128 {
  uint64_t high = 0;
  uint64_t low = 0;
  bool operator==(const Hash128&) const = default;

  void feed(uint64_t value) {
    high = combine(high ^ 0x6a09e667f3bcc908ULL, value);
    low = combine(low ^ 0xbb67ae8584caa73bULL, value ^ 0x3c6ef372fe94f82bULL);
  }
  void feed(const Hash128& other) {
    feed(other.high);
    feed(other.low);
  }
  void feed_bytes(const char* data, size_t size) {
    feed(size);
    for (size_t i = 0; i < size; i += 8) {
      uint64_t word = 0;
      std::memcpy(&word, data + i, size - i < 8 ? size - i : 8);
      feed(word);
    }
  }
};

struct Hash128Hasher {
  size_t operator()(const Hash128& hash) const { return static_cast<size_t>(hash.low); }
};

// Room for one more element in each of the tables. Called before find_or_add, so that where memory runs out the index has no id that its
// table lacks: appending what was found to be new can't fail then.
template <class... Tables>
void make_room(Tables&... tables) {
  const auto grow = [](auto& table) {
    if (table.size() == table.capacity()) table.reserve(table.size() < 8 ? 16 : 2 * table.size());
  };
  (grow(tables), ...);
}

// Open addressing from a hash to an id in somebody else's table. The table holds the values; this holds only (half a hash, id).
// find_or_add returns the id of an equal value, or adds `next_id` and returns it; find returns kFree if there is none. Amortised O(1).
class HashIndex {
 public:
  static constexpr uint32_t kFree = 0xFFFFFFFF;

  template <class Equal>
  uint32_t find(uint64_t hash, Equal equal) const {
    if (size_ == 0) return kFree;
    const size_t mask = slots_.size() - 1;
    const uint32_t half = static_cast<uint32_t>(hash);
    for (size_t i = half & mask;; i = (i + 1) & mask) {
      const Slot& slot = slots_[i];
      if (slot.id == kFree || (slot.hash == half && equal(slot.id))) return slot.id;
    }
  }
  template <class Equal>
  uint32_t find_or_add(uint64_t hash, uint32_t next_id, Equal equal) {
    if ((size_ + 1) * 4 > slots_.size() * 3) grow();
    const size_t mask = slots_.size() - 1;
    const uint32_t half = static_cast<uint32_t>(hash);
    for (size_t i = half & mask;; i = (i + 1) & mask) {
      Slot& slot = slots_[i];
      if (slot.id == kFree) {
        slot = {half, next_id};
        ++size_;
        return next_id;
      }
      if (slot.hash == half && equal(slot.id)) return slot.id;
    }
  }
  size_t memory_bytes() const { return slots_.capacity() * sizeof(Slot); }

 private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t id = kFree;
  };

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : slots_.size() * 2);
    old.swap(slots_);
    const size_t mask = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.id == kFree) continue;
      size_t i = slot.hash & mask;
      while (slots_[i].id != kFree) i = (i + 1) & mask;
      slots_[i] = slot;
    }
  }

  std::vector<Slot> slots_;
  size_t size_ = 0;
};

}  // namespace gd
