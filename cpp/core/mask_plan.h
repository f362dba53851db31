// What a mask is made of: whole sets that it shares with others, and single tokens set or taken out, in order. Remembering that instead of
// the words costs a few hundred bytes, and writing it out costs a copy.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "token_set.h"

namespace gd {

class MaskPlan {
 public:
  bool empty() const { return sets_.empty() && steps_.empty(); }
  void clear() {
    sets_.clear();
    steps_.clear();
    own_bytes_ = 0;
  }
  // Adds all of `set` (of those in the mask `limit` only, if there is one); `owner` keeps both alive.
  void add(std::shared_ptr<const void> owner, const TokenSet& set, std::shared_ptr<const TokenSet> limit = nullptr) {
    if (set.is_mask()) {
      sets_.push_back({std::move(owner), std::move(limit), &set, steps_.size()});
      return;
    }
    if (limit == nullptr) {
      steps_.insert(steps_.end(), set.ids().begin(), set.ids().end());
      return;
    }
    for (const uint32_t id : set.ids()) {
      if (has_token(limit->words().data(), id)) steps_.push_back(id);
    }
  }
  void set(uint32_t token) { steps_.push_back(token); }
  void take_out(uint32_t token) { steps_.push_back(token | kTakenOut); }

  // Overwrites `mask`.
  void write(uint32_t* mask, size_t num_words) const {
    size_t done = 0;
    bool begun = false;
    for (const Set& s : sets_) {
      if (s.position > 0 && !begun) std::memset(mask, 0, num_words * 4);
      begun = begun || s.position > 0;
      apply(mask, done, s.position);
      done = s.position;
      const uint32_t* words = s.set->words().data();
      if (s.limit != nullptr) {
        const uint32_t* limit = s.limit->words().data();
        if (begun) {
          for (size_t w = 0; w < num_words; ++w) mask[w] |= words[w] & limit[w];
        } else {
          for (size_t w = 0; w < num_words; ++w) mask[w] = words[w] & limit[w];
        }
      } else if (begun) {
        for (size_t w = 0; w < num_words; ++w) mask[w] |= words[w];
      } else {
        std::memcpy(mask, words, num_words * 4);
      }
      begun = true;
    }
    if (!begun) std::memset(mask, 0, num_words * 4);
    apply(mask, done, steps_.size());
  }

  // To be kept: without spare room, and no larger than the words themselves. `mask` is what it writes.
  void settle(const uint32_t* mask, size_t num_words) {
    constexpr size_t kMostSets = 2;
    if (steps_.size() > num_words / 2 || sets_.size() > kMostSets) {
      auto own = std::make_shared<const TokenSet>(TokenSet::from_mask(mask, num_words));
      clear();
      add(own, *own);
      own_bytes_ = own->is_mask() ? own->memory_bytes() : 0;
    }
    sets_.shrink_to_fit();
    steps_.shrink_to_fit();
  }
  // Without the sets that it shares.
  size_t memory_bytes() const { return sizeof(MaskPlan) + sets_.capacity() * sizeof(Set) + 4 * steps_.capacity() + own_bytes_; }
  // Of the sets that it shares.
  size_t held_bytes() const {
    size_t bytes = 0;
    for (const Set& s : sets_) bytes += s.set->memory_bytes() + (s.limit == nullptr ? 0 : s.limit->memory_bytes());
    return bytes;
  }

 private:
  static constexpr uint32_t kTakenOut = uint32_t{1} << 31;  // token ids are below
  struct Set {
    std::shared_ptr<const void> owner;
    std::shared_ptr<const TokenSet> limit;
    const TokenSet* set;
    size_t position;  // in steps_: what stands before it comes before
  };

  void apply(uint32_t* mask, size_t first, size_t last) const {
    for (size_t i = first; i < last; ++i) {
      const uint32_t step = steps_[i];
      if ((step & kTakenOut) == 0) {
        set_token(mask, step);
      } else {
        clear_token(mask, step & ~kTakenOut);
      }
    }
  }

  std::vector<Set> sets_;
  std::vector<uint32_t> steps_;
  size_t own_bytes_ = 0;
};

}  // namespace gd
