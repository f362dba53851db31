#include "mask_plan.h"

#include <cstring>

namespace gd {
namespace {

void apply(std::span<const uint32_t> steps, uint32_t* mask) {
  for (const uint32_t step : steps) {
    if ((step & kTakenOut) == 0) {
      set_token(mask, step);
    } else {
      clear_token(mask, step & ~kTakenOut);
    }
  }
}

}  // namespace

void write_mask(std::span<const MaskSet> sets, std::span<const uint32_t> steps, uint32_t* mask, size_t num_words) {
  size_t done = 0;
  bool begun = false;
  for (const MaskSet& s : sets) {
    if (s.position > 0 && !begun) std::memset(mask, 0, num_words * 4);
    begun = begun || s.position > 0;
    apply(steps.subspan(done, s.position - done), mask);
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
  apply(steps.subspan(done), mask);
}

void MaskPlan::add(std::shared_ptr<const void> owner, const TokenSet& set, std::shared_ptr<const TokenSet> limit) {
  if (set.is_mask()) {
    sets_.push_back({&set, limit.get(), steps_.size()});
    owners_.push_back({std::move(owner), set.memory_bytes()});
    if (limit == nullptr) return;
    const size_t limit_bytes = limit->memory_bytes();
    owners_.push_back({std::move(limit), limit_bytes});
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

size_t MaskPlan::settle(const uint32_t* mask, size_t num_words) {
  constexpr size_t kMostSets = 2;
  if (steps_.size() <= num_words / 2 && sets_.size() <= kMostSets) return 0;
  auto own = std::make_shared<const TokenSet>(TokenSet::from_mask(mask, num_words));
  clear();
  add(own, *own);
  return own->is_mask() ? own->memory_bytes() : 0;
}

}  // namespace gd
