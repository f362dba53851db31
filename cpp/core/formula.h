// And/or formulas over the claims of one container: hash-consed, monotone, rewritten by each entry that is read.
// ir/nodes.py has the table of what an entry does to each claim; this file and container.cpp are its implementation.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "grammar.h"
#include "hashing.h"

namespace gd {

using FormulaId = uint32_t;

class FormulaPool {
 public:
  static constexpr FormulaId kFalse = 0;
  static constexpr FormulaId kTrue = 1;

  struct Item {
    FormulaNode::Kind kind{};
    uint32_t claim = 0;            // kClaim: index into the container's claims
    uint32_t count = 0;            // kClaim: what is left of the claim's count
    std::vector<FormulaId> parts;  // kAnd, kOr: sorted, at least two
  };

  FormulaPool();

  const Item& operator[](FormulaId f) const { return items_[f]; }
  FormulaId claim(uint32_t index, uint32_t count);
  FormulaId all_of(std::vector<FormulaId> parts);
  FormulaId any_of(std::vector<FormulaId> parts);

  // Rebuilds f with every claim replaced by what `rewrite(item)` returns.
  FormulaId map(FormulaId f, const std::function<FormulaId(const Item&)>& rewrite);

  // The claim sets (sorted) that an entry may pick: see "projection" in ir/nodes.py. `relevance(item)` tells what a claim
  // says of the entry. At most `limit` sets; more throws LimitError.
  enum class Relevance { kNone, kMust, kMay };
  using ClaimSets = std::vector<std::vector<uint32_t>>;
  ClaimSets project(FormulaId f, const std::function<Relevance(const Item&)>& relevance, size_t limit) const;

 private:
  FormulaId intern(Item item);
  FormulaId join(FormulaNode::Kind kind, std::vector<FormulaId> parts);

  std::vector<Item> items_;
  HashIndex index_;
};

}  // namespace gd
