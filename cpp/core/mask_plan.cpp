#include "mask_plan.h"

#include <algorithm>
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
  bool begun = false;
  const auto begin = [&] {
    if (!begun) std::memset(mask, 0, num_words * 4);
    begun = true;
  };
  size_t done = 0;
  for (const MaskSet& s : sets) {
    if (s.position > done) {
      begin();
      apply(steps.subspan(done, s.position - done), mask);
      done = s.position;
    }
    const uint32_t* limit = s.limit == nullptr ? nullptr : s.limit->words().data();
    if (!s.set->is_mask()) {
      begin();
      for (const uint32_t id : s.set->ids()) {
        if (limit == nullptr || has_token(limit, id)) set_token(mask, id);
      }
      continue;
    }
    const uint32_t* words = s.set->words().data();
    if (limit != nullptr) {
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
  begin();
  apply(steps.subspan(done), mask);
}

void MaskPlan::add(std::shared_ptr<const void> owner, const TokenSet& set, std::shared_ptr<const TokenSet> limit) {
  constexpr size_t kFew = 16;  // ids are as short as a reference
  if (!set.is_mask() && set.ids().size() <= kFew) {
    for (const uint32_t id : set.ids()) {
      if (limit == nullptr || has_token(limit->words().data(), id)) steps_.push_back(id);
    }
    return;
  }
  const auto is_there = [&](const MaskSet& s) { return s.set == &set && s.limit == nullptr; };
  if (!has_taken_out_ && std::any_of(sets_.begin(), sets_.end(), is_there)) return;
  sets_.push_back({&set, limit.get(), steps_.size()});
  owners_.push_back({std::move(owner), set.memory_bytes()});
  if (limit == nullptr) return;
  const size_t limit_bytes = limit->memory_bytes();
  owners_.push_back({std::move(limit), limit_bytes});
}

size_t MaskPlan::settle(const uint32_t* mask, size_t num_words) {
  constexpr size_t kMostMasks = 3, kMostSets = 8;
  const auto is_mask = [](const MaskSet& s) { return s.set->is_mask(); };
  if (steps_.size() <= num_words / 2 && sets_.size() <= kMostSets &&
      std::count_if(sets_.begin(), sets_.end(), is_mask) <= static_cast<std::ptrdiff_t>(kMostMasks)) {
    return 0;
  }
  auto own = std::make_shared<const TokenSet>(TokenSet::from_mask(mask, num_words));
  clear();
  add(own, *own);
  return own->memory_bytes();
}

}  // namespace gd
