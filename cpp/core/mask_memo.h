// Finished masks, of configurations or of configurations and limits, kept as what they are made of (MaskPlan), within the limit of a CacheBudget.
//
// Two generations, as in RecentCache. A generation keeps its plans in a few large pieces of memory, because hundreds of small ones cost
// more to free than they had cost to make, and holds each owner of sets once. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "hashing.h"
#include "mask_plan.h"
#include "recent_cache.h"

namespace gd {

class MaskMemo {
 public:
  using Key = uint64_t;

  explicit MaskMemo(CacheBudget& budget) : budget_(budget) {}

  // Writes the mask of `key`; false if it is not there.
  bool write(Key key, uint32_t* mask, size_t num_words);
  // What `add` takes of the budget, less the sets that are the plan's own.
  static size_t cost(const MaskPlan& plan);
  // Where the budget has made room for `cost`, and the key is not there.
  void add(Key key, const MaskPlan& plan, size_t cost);
  void age();

 private:
  struct Plan {  // lies in a generation's memory
    std::span<const MaskSet> sets;
    std::span<const uint32_t> owners;  // as indices
    std::span<const uint32_t> steps;
  };
  struct Kept {
    Key key = 0;
    size_t cost = 0;
    Plan plan;
  };

  class Generation {
   public:
    const Kept* find(Key key) const;
    // The index of the owner, and whether it is new.
    std::pair<uint32_t, bool> hold(const MaskOwner& owner);
    const MaskOwner& owner(uint32_t index) const { return owners_[index]; }
    // A copy of the plan, whose owners are those that `hold` has told.
    const Kept& keep(Key key, size_t cost, const Plan& plan);

   private:
    std::byte* allocate(size_t bytes);

    std::vector<MaskOwner> owners_;
    HashIndex owner_index_;
    std::vector<Kept> kept_;
    HashIndex index_;
    std::vector<std::unique_ptr<std::byte[]>> pieces_;
    size_t size_ = 0, used_ = 0;  // of the last piece
  };

  // The same in the younger generation, if there is room.
  const Kept& renew(const Kept& old);

  CacheBudget& budget_;
  Generation young_, old_;
  std::vector<uint32_t> owners_;  // scratch
};

}  // namespace gd
