// A fixed set of tokens, as a list of ids or as a bit mask, whichever is smaller.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace gd {

class TokenSet {
 public:
  TokenSet() = default;
  // From a mask of `num_words` words.
  static TokenSet from_mask(const uint32_t* mask, size_t num_words) {
    TokenSet set;
    size_t count = 0;
    for (size_t w = 0; w < num_words; ++w) count += static_cast<size_t>(__builtin_popcount(mask[w]));
    if (count * 2 >= num_words) {
      set.words_.assign(mask, mask + num_words);
      return set;
    }
    set.ids_.reserve(count);
    for (size_t w = 0; w < num_words; ++w) {
      for (uint32_t word = mask[w]; word != 0; word &= word - 1) {
        set.ids_.push_back(static_cast<uint32_t>(w * 32) + static_cast<uint32_t>(__builtin_ctz(word)));
      }
    }
    return set;
  }

  // Overwrites `mask` and returns true if the set is kept as a mask; else does nothing and returns false.
  bool copy_to(uint32_t* mask, size_t num_words) const {
    if (words_.size() != num_words) return false;
    std::memcpy(mask, words_.data(), num_words * sizeof(uint32_t));
    return true;
  }
  void add_to(uint32_t* mask) const {
    if (!words_.empty()) {
      for (size_t w = 0; w < words_.size(); ++w) mask[w] |= words_[w];
    } else {
      for (const uint32_t id : ids_) mask[id / 32] |= uint32_t{1} << (id % 32);
    }
  }
  size_t memory_bytes() const { return 4 * (ids_.capacity() + words_.capacity()); }

 private:
  std::vector<uint32_t> ids_;
  std::vector<uint32_t> words_;
};

}  // namespace gd
