// What a mask is made of: whole sets that it shares with others, and single tokens set or taken out, in order. Remembering that instead of
// the words costs a few hundred bytes, and writing it out costs a copy.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "token_set.h"

namespace gd {

// A set that is part of a mask, less what is not in the mask `limit`, if there is one.
struct MaskSet {
  const TokenSet* set;
  const TokenSet* limit;
  size_t position;  // among the single tokens: what stands before it comes before
};

// What keeps a set alive, and the bytes of the set.
struct MaskOwner {
  std::shared_ptr<const void> owner;
  size_t bytes;
};

// In a list of single tokens: not set, but taken out. Token ids are below.
inline constexpr uint32_t kTakenOut = uint32_t{1} << 31;

// Overwrites `mask` with the sets and the single tokens.
void write_mask(std::span<const MaskSet> sets, std::span<const uint32_t> steps, uint32_t* mask, size_t num_words);

class MaskPlan {
 public:
  bool empty() const { return sets_.empty() && steps_.empty(); }
  void clear() {
    sets_.clear();
    owners_.clear();
    steps_.clear();
    has_taken_out_ = false;
  }
  // Adds all of `set` (of those in the mask `limit` only, if there is one); `owner` keeps it alive.
  void add(std::shared_ptr<const void> owner, const TokenSet& set, std::shared_ptr<const TokenSet> limit = nullptr);
  void set(uint32_t token) { steps_.push_back(token); }
  void take_out(uint32_t token) {
    steps_.push_back(token | kTakenOut);
    has_taken_out_ = true;
  }

  void write(uint32_t* mask, size_t num_words) const { write_mask(sets_, steps_, mask, num_words); }
  // To be kept: no larger than the words themselves. `mask` is what it writes. Returns the bytes of sets that are its own.
  size_t settle(const uint32_t* mask, size_t num_words);

  std::span<const MaskSet> sets() const { return sets_; }
  std::span<const MaskOwner> owners() const { return owners_; }
  std::span<const uint32_t> steps() const { return steps_; }

 private:
  std::vector<MaskSet> sets_;
  std::vector<MaskOwner> owners_;
  std::vector<uint32_t> steps_;
  bool has_taken_out_ = false;
};

}  // namespace gd
