// A fixed set of tokens, as a list of ids where it is small (half a bit mask's memory at most), else as a bit mask.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "token_mask.h"

namespace gd {

class TokenSet {
 public:
  TokenSet() = default;
  // From a mask of `num_words` words.
  static TokenSet from_mask(const uint32_t* mask, size_t num_words) {
    TokenSet set;
    const size_t most_ids = num_words / 2;
    constexpr size_t kBlock = 16;  // words that are skipped together where none is set, as nearly everywhere in a small set
    for (size_t begin = 0; begin < num_words; begin += kBlock) {
      const size_t end = begin + kBlock < num_words ? begin + kBlock : num_words;
      uint32_t any = 0;
      for (size_t w = begin; w < end; ++w) any |= mask[w];
      if (any == 0) continue;
      for (size_t w = begin; w < end; ++w) {
        for (uint32_t word = mask[w]; word != 0; word &= word - 1) {
          set.ids_.push_back(static_cast<uint32_t>(w * 32) + static_cast<uint32_t>(std::countr_zero(word)));
        }
      }
      if (set.ids_.size() > most_ids) {
        set.ids_ = {};
        set.words_.assign(mask, mask + num_words);
        return set;
      }
    }
    set.ids_.shrink_to_fit();
    return set;
  }

  // From ids, of tokens below 32 * `num_words`; repeats allowed.
  static TokenSet from_ids(std::vector<uint32_t> ids, size_t num_words) {
    TokenSet set;
    if (ids.size() <= num_words / 2) {
      ids.shrink_to_fit();
      set.ids_ = std::move(ids);
      return set;
    }
    set.words_.assign(num_words, 0);
    for (const uint32_t id : ids) set_token(set.words_.data(), id);
    return set;
  }
  // From all words of a mask.
  static TokenSet from_words(std::vector<uint32_t> words) {
    TokenSet set;
    set.words_ = std::move(words);
    return set;
  }

  bool is_mask() const { return !words_.empty(); }
  const std::vector<uint32_t>& words() const { return words_; }  // empty if it is a list
  const std::vector<uint32_t>& ids() const { return ids_; }      // empty if it is a mask

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
      for (const uint32_t id : ids_) set_token(mask, id);
    }
  }
  size_t memory_bytes() const { return 4 * (ids_.capacity() + words_.capacity()); }

 private:
  std::vector<uint32_t> ids_;
  std::vector<uint32_t> words_;
};

}  // namespace gd
