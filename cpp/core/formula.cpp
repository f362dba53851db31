#include "formula.h"

#include <algorithm>

#include "errors.h"

namespace gd {

FormulaPool::FormulaPool() {
  Item no;
  no.kind = FormulaNode::kFalse;
  intern(std::move(no));
  Item yes;
  yes.kind = FormulaNode::kTrue;
  intern(std::move(yes));
}

FormulaId FormulaPool::intern(Item item) {
  uint64_t hash = combine(combine(static_cast<uint64_t>(item.kind), item.claim), item.count);
  for (const FormulaId part : item.parts) hash = combine(hash, part);
  const uint32_t next = static_cast<uint32_t>(items_.size());
  make_room(items_);
  const FormulaId id = index_.find_or_add(hash, next, [&](uint32_t other) {
    const Item& o = items_[other];
    return o.kind == item.kind && o.claim == item.claim && o.count == item.count && o.parts == item.parts;
  });
  if (id != next) return id;
  if (item.kind == FormulaNode::kClaim) item.claims.insert(item.claim);
  for (const FormulaId part : item.parts) item.claims.insert(items_[part].claims);
  part_bytes_ += item.parts.capacity() * sizeof(FormulaId);
  items_.push_back(std::move(item));
  return id;
}

size_t FormulaPool::memory_bytes() const {
  return items_.capacity() * sizeof(Item) + part_bytes_ + index_.memory_bytes() + mapped_.capacity() * sizeof(Mapped);
}

FormulaId FormulaPool::claim(uint32_t index, uint32_t count) {
  Item item;
  item.kind = FormulaNode::kClaim;
  item.claim = index;
  item.count = count;
  return intern(std::move(item));
}

FormulaId FormulaPool::join(FormulaNode::Kind kind, std::vector<FormulaId> parts) {
  const bool conjunction = kind == FormulaNode::kAnd;
  const FormulaId neutral = conjunction ? kTrue : kFalse;
  const FormulaId absorbing = conjunction ? kFalse : kTrue;
  std::vector<FormulaId> flat;
  for (const FormulaId part : parts) {
    if (part == absorbing) return absorbing;
    if (part == neutral) continue;
    if (items_[part].kind == kind) {
      flat.insert(flat.end(), items_[part].parts.begin(), items_[part].parts.end());
    } else {
      flat.push_back(part);
    }
  }
  std::sort(flat.begin(), flat.end());
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  // Absorption: A and (A or B) is A; A or (A and B) is A.
  const FormulaNode::Kind dual = conjunction ? FormulaNode::kOr : FormulaNode::kAnd;
  std::vector<FormulaId> kept;
  for (const FormulaId part : flat) {
    const Item& item = items_[part];
    const bool absorbed = item.kind == dual && std::any_of(item.parts.begin(), item.parts.end(), [&](FormulaId inner) {
                            return std::binary_search(flat.begin(), flat.end(), inner);
                          });
    if (!absorbed) kept.push_back(part);
  }
  if (kept.empty()) return neutral;
  if (kept.size() == 1) return kept[0];
  Item item;
  item.kind = kind;
  item.parts = std::move(kept);
  return intern(std::move(item));
}

FormulaId FormulaPool::all_of(std::vector<FormulaId> parts) { return join(FormulaNode::kAnd, std::move(parts)); }
FormulaId FormulaPool::any_of(std::vector<FormulaId> parts) { return join(FormulaNode::kOr, std::move(parts)); }

FormulaId FormulaPool::map(FormulaId f, ClaimBits changed, const Rewrite& rewrite) {
  mapped_.resize(items_.size());
  ++round_;
  return mapped(f, changed, rewrite);
}

FormulaId FormulaPool::mapped(FormulaId f, const ClaimBits& changed, const Rewrite& rewrite) {
  if (!items_[f].claims.meets(changed)) return f;
  if (mapped_[f].round == round_) return mapped_[f].result;
  const auto remembered = [&](FormulaId result) {
    mapped_[f] = {round_, result};
    return result;
  };
  const FormulaNode::Kind kind = items_[f].kind;
  if (kind == FormulaNode::kClaim) return remembered(rewrite(f, items_[f].claim, items_[f].count));
  const FormulaId absorbing = kind == FormulaNode::kAnd ? kFalse : kTrue;
  std::vector<FormulaId> parts;  // empty before the first change: most conjunctions that change are false, and need no list
  for (size_t at = 0; at < items_[f].parts.size(); ++at) {  // the table may grow, and move
    const FormulaId part = items_[f].parts[at];
    const FormulaId now = mapped(part, changed, rewrite);
    if (now == absorbing) return remembered(absorbing);
    if (now != part && parts.empty()) parts = items_[f].parts;
    if (!parts.empty()) parts[at] = now;
  }
  return remembered(parts.empty() ? f : join(kind, std::move(parts)));
}

// Whether a claim that stands in a conjunction by itself keeps the entry out.
bool FormulaPool::is_refused(const Item& conjunction, const std::vector<Relevance>& relevance) const {
  return std::any_of(conjunction.parts.begin(), conjunction.parts.end(), [&](FormulaId part) {
    const Item& item = items_[part];
    return item.kind == FormulaNode::kClaim && relevance[item.claim] == Relevance::kNever;
  });
}

FormulaPool::ClaimSets FormulaPool::project(FormulaId f, const ClaimBits& relevant, const std::vector<Relevance>& relevance,
                                            size_t limit) const {
  const Item& item = items_[f];
  if (f != kFalse && !item.claims.meets(relevant)) return {{}};
  const auto unique = [&](ClaimSets& sets) {
    std::sort(sets.begin(), sets.end());
    sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
    if (sets.size() > limit) {
      throw LimitError("max_picks", "one key or item could be read in more than " + std::to_string(limit) + " ways");
    }
  };
  switch (item.kind) {
    case FormulaNode::kFalse:
      return {};
    case FormulaNode::kTrue:
      return {{}};
    case FormulaNode::kClaim:
      switch (relevance[item.claim]) {
        case Relevance::kNone:
          return {{}};
        case Relevance::kMust:
          return {{item.claim}};
        case Relevance::kMay:
          return {{}, {item.claim}};
        case Relevance::kNever:
          return {};
      }
      return {{}};
    case FormulaNode::kOr: {
      ClaimSets result;
      for (const FormulaId part : item.parts) {
        ClaimSets sets = project(part, relevant, relevance, limit);
        result.insert(result.end(), sets.begin(), sets.end());
      }
      unique(result);
      return result;
    }
    case FormulaNode::kAnd: {
      if (is_refused(item, relevance)) return {};
      ClaimSets result{{}};
      for (const FormulaId part : item.parts) {
        const ClaimSets sets = project(part, relevant, relevance, limit);
        if (sets.size() == 1 && sets[0].empty()) continue;
        ClaimSets product;
        product.reserve(result.size() * sets.size());
        for (const std::vector<uint32_t>& a : result) {
          for (const std::vector<uint32_t>& b : sets) {
            std::vector<uint32_t> both;
            std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
            product.push_back(std::move(both));
          }
        }
        result = std::move(product);
        unique(result);
      }
      return result;
    }
  }
  return {};
}

}  // namespace gd
