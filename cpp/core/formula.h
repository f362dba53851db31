// And/or formulas over the claims of one container: hash-consed, monotone, rewritten by each entry that is read.
// ir/nodes.py has the table of what an entry does to each claim; this file and container.cpp are its implementation.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "grammar.h"
#include "hashing.h"

namespace gd {

using FormulaId = uint32_t;

// Claims by their index modulo 256: two sets that do not meet have no claim in common.
class ClaimBits {
 public:
  void insert(uint32_t claim) { words_[claim / 64 % words_.size()] |= uint64_t{1} << (claim % 64); }
  void insert(const ClaimBits& other) {
    for (size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
  }
  bool meets(const ClaimBits& other) const {
    uint64_t common = 0;
    for (size_t w = 0; w < words_.size(); ++w) common |= words_[w] & other.words_[w];
    return common != 0;
  }
  // Also one of those that are alike modulo 256.
  bool may_contain(uint32_t claim) const { return ((words_[claim / 64 % words_.size()] >> (claim % 64)) & 1) != 0; }

 private:
  std::array<uint64_t, 4> words_{};
};

class FormulaPool {
 public:
  static constexpr FormulaId kFalse = 0;
  static constexpr FormulaId kTrue = 1;

  struct Item {
    FormulaNode::Kind kind{};
    uint32_t claim = 0;            // kClaim: index into the container's claims
    uint32_t count = 0;            // kClaim: what is left of the claim's count
    std::vector<FormulaId> parts;  // kAnd, kOr: sorted, at least two
    ClaimBits claims;              // in it
  };

  FormulaPool();

  const Item& operator[](FormulaId f) const { return items_[f]; }
  FormulaId claim(uint32_t index, uint32_t count);
  FormulaId all_of(std::vector<FormulaId> parts);
  FormulaId any_of(std::vector<FormulaId> parts);

  // Rebuilds f with every claim replaced by what `rewrite` returns: another one only for claims in `changed`.
  using Rewrite = std::function<FormulaId(FormulaId f, uint32_t claim, uint32_t count)>;
  FormulaId map(FormulaId f, ClaimBits changed, const Rewrite& rewrite);

  // The claim sets (sorted) that an entry may pick: see "projection" in ir/nodes.py. `relevance` tells by claim what it says of the
  // entry: kNone if it is not in `relevant`; kNever if it would have to be picked and can't be. At most `limit` sets; more throws
  // LimitError.
  enum class Relevance : uint8_t { kNone, kMust, kMay, kNever };
  using ClaimSets = std::vector<std::vector<uint32_t>>;
  ClaimSets project(FormulaId f, const ClaimBits& relevant, const std::vector<Relevance>& relevance, size_t limit) const;

  size_t memory_bytes() const;  // O(1)

 private:
  FormulaId intern(Item item);
  FormulaId join(FormulaNode::Kind kind, std::vector<FormulaId> parts);
  FormulaId mapped(FormulaId f, const ClaimBits& changed, const Rewrite& rewrite);
  bool is_refused(const Item& conjunction, const std::vector<Relevance>& relevance) const;

  std::vector<Item> items_;
  size_t part_bytes_ = 0;
  HashIndex index_;
  // Formulas share parts: what became of one in the present call of `map`, where its round is the present one.
  struct Mapped {
    uint64_t round = 0;
    FormulaId result = kFalse;
  };
  std::vector<Mapped> mapped_;
  uint64_t round_ = 0;
};

}  // namespace gd
