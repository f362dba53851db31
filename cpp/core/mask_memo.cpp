#include "mask_memo.h"

#include <algorithm>
#include <cstring>

namespace gd {
namespace {

// A plan's own memory: the sets, then owners, then single tokens.
size_t bytes_of(size_t num_sets, size_t num_owners, size_t num_steps) {
  constexpr size_t kAlign = alignof(MaskSet);
  const size_t bytes = num_sets * sizeof(MaskSet) + (num_owners + num_steps) * sizeof(uint32_t);
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

template <class T>
std::span<const T> copied(std::span<const T> values, std::byte*& at) {
  T* begin = reinterpret_cast<T*>(at);
  if (!values.empty()) std::memcpy(begin, values.data(), values.size_bytes());
  at += values.size_bytes();
  return {begin, values.size()};
}

}  // namespace

bool MaskMemo::write(Key key, uint32_t* mask, size_t num_words) {
  const Kept* kept = young_.find(key);
  if (kept == nullptr) {
    kept = old_.find(key);
    if (kept == nullptr) return false;
    kept = &renew(*kept);
  }
  write_mask(kept->plan.sets, kept->plan.steps, mask, num_words);
  return true;
}

size_t MaskMemo::cost(const MaskPlan& plan) {
  constexpr size_t kIndexBytes = 32;
  return bytes_of(plan.sets().size(), plan.owners().size(), plan.steps().size()) + sizeof(Kept) + kIndexBytes;
}

void MaskMemo::add(Key key, const MaskPlan& plan, size_t cost) {
  owners_.clear();
  for (const MaskOwner& owner : plan.owners()) owners_.push_back(young_.hold(owner).first);
  young_.keep(key, cost, {plan.sets(), owners_, plan.steps()});
  budget_.young_bytes += cost;
}

const MaskMemo::Kept& MaskMemo::renew(const Kept& old) {
  // The sets may be forgotten elsewhere by now, and then it is this plan that keeps them.
  size_t cost = old.cost;
  for (const uint32_t owner : old.plan.owners) cost += old_.owner(owner).bytes;
  if (cost > budget_.room()) return old;
  owners_.clear();
  cost = old.cost;
  for (const uint32_t index : old.plan.owners) {
    const MaskOwner& owner = old_.owner(index);
    const auto [held, is_new] = young_.hold(owner);
    if (is_new) cost += owner.bytes;
    owners_.push_back(held);
  }
  budget_.young_bytes += cost;
  return young_.keep(old.key, cost, {old.plan.sets, owners_, old.plan.steps});
}

void MaskMemo::age() {
  old_ = std::move(young_);
  young_ = {};
}

const MaskMemo::Kept* MaskMemo::Generation::find(Key key) const {
  const uint32_t found = index_.find(mix(key), [&](uint32_t i) { return kept_[i].key == key; });
  return found == HashIndex::kFree ? nullptr : &kept_[found];
}

std::pair<uint32_t, bool> MaskMemo::Generation::hold(const MaskOwner& owner) {
  make_room(owners_);
  const uint32_t next = static_cast<uint32_t>(owners_.size());
  const uint32_t id = owner_index_.find_or_add(mix(reinterpret_cast<uintptr_t>(owner.owner.get())), next,
                                               [&](uint32_t i) { return owners_[i].owner == owner.owner; });
  if (id == next) owners_.push_back(owner);
  return {id, id == next};
}

const MaskMemo::Kept& MaskMemo::Generation::keep(Key key, size_t cost, const Plan& plan) {
  make_room(kept_);
  std::byte* at = allocate(bytes_of(plan.sets.size(), plan.owners.size(), plan.steps.size()));
  Kept kept{key, cost, {}};
  kept.plan.sets = copied(plan.sets, at);
  kept.plan.owners = copied(plan.owners, at);
  kept.plan.steps = copied(plan.steps, at);
  const uint32_t next = static_cast<uint32_t>(kept_.size());
  index_.find_or_add(mix(key), next, [&](uint32_t i) { return kept_[i].key == key; });
  kept_.push_back(kept);
  return kept_.back();
}

std::byte* MaskMemo::Generation::allocate(size_t bytes) {
  constexpr size_t kFirst = 1024, kMost = 32768;
  if (pieces_.empty() || size_ - used_ < bytes) {
    const size_t size = std::max(std::clamp(2 * size_, kFirst, kMost), bytes);
    pieces_.push_back(std::unique_ptr<std::byte[]>(new std::byte[size]));
    size_ = size;
    used_ = 0;
  }
  std::byte* place = pieces_.back().get() + used_;
  used_ += bytes;
  return place;
}

}  // namespace gd
