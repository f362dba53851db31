// A set of byte values, 256 bits.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace gd {

struct ByteSet {
  std::array<uint64_t, 4> words{};

  bool contains(uint8_t byte) const { return (words[byte >> 6] >> (byte & 63)) & 1; }
  void insert(uint8_t byte) { words[byte >> 6] |= uint64_t{1} << (byte & 63); }
  bool empty() const { return (words[0] | words[1] | words[2] | words[3]) == 0; }
  bool intersects(const ByteSet& other) const {
    return ((words[0] & other.words[0]) | (words[1] & other.words[1]) | (words[2] & other.words[2]) |
            (words[3] & other.words[3])) != 0;
  }
  void merge(const ByteSet& other) {
    for (size_t i = 0; i < 4; ++i) words[i] |= other.words[i];
  }
  void intersect(const ByteSet& other) {
    for (size_t i = 0; i < 4; ++i) words[i] &= other.words[i];
  }
  int count() const {
    return std::popcount(words[0]) + std::popcount(words[1]) + std::popcount(words[2]) + std::popcount(words[3]);
  }
  uint8_t first() const {  // the least member; there is one
    uint32_t i = 0;
    while (words[i] == 0) ++i;
    return static_cast<uint8_t>(i * 64 + static_cast<uint32_t>(std::countr_zero(words[i])));
  }
  bool includes(const ByteSet& other) const {
    for (size_t i = 0; i < 4; ++i) {
      if ((other.words[i] & ~words[i]) != 0) return false;
    }
    return true;
  }
  bool operator==(const ByteSet&) const = default;

  static ByteSet all() {
    ByteSet set;
    set.words.fill(~uint64_t{0});
    return set;
  }

  // Calls visit(byte) for each member, in increasing order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (uint32_t i = 0; i < 4; ++i) {
      for (uint64_t word = words[i]; word != 0; word &= word - 1) {
        visit(static_cast<uint8_t>(i * 64 + static_cast<uint32_t>(std::countr_zero(word))));
      }
    }
  }
};

}  // namespace gd
