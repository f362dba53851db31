// What is derived from the node of an object or array, once: its names in their orders, its counts, its first formula, and which claims
// speak of what.

#include <algorithm>

#include "container.h"

namespace gd {

// Whether the vocabulary has all the bytes of a text.
bool Containers::is_spellable(std::string_view text) const {
  return full_alphabet_ ||
         std::all_of(text.begin(), text.end(), [&](char c) { return alphabet_.contains(static_cast<uint8_t>(c)); });
}

Containers::Info& Containers::derive_info(NodeId id) {
  Info i;  // where memory runs out on the way, the next question begins anew
  const Node& n = grammar_.nodes[id];
  // With a punctuation byte missing from the vocabulary, a container is limited to what needs no such byte.
  i.max_count = n.max_count;
  if (!is_spellable(grammar_.item_separator)) i.max_count = std::min(i.max_count, 1U);
  if (n.kind == Node::kMembers && !(is_spellable("\"") && is_spellable(grammar_.key_separator))) i.max_count = 0;
  if (n.kind == Node::kMembers) {
    describe_names(n, i);
    i.counts = n.min_count > 0 || i.max_count != kNone;
    if (i.max_count == kNone) i.count_stop = n.min_count;
  } else {
    i.counts = true;
    if (i.max_count == kNone) i.count_stop = std::max(n.min_count, n.prefix);
  }
  i.formula = first_formula(n);
  if (i.formula != FormulaPool::kTrue) file_claims(n, i);
  i.ready = true;
  infos_[id] = std::move(i);
  return infos_[id];
}

// The names of an object in the orders in which they are looked at: by their bytes, by rank, as they are listed.
void Containers::describe_names(const Node& n, Info& i) const {
  const uint32_t num_names = static_cast<uint32_t>(n.names.size());
  i.sorted_to_class.resize(num_names);
  for (uint32_t c = 0; c < num_names; ++c) i.sorted_to_class[c] = c;
  std::sort(i.sorted_to_class.begin(), i.sorted_to_class.end(), [&](ClassId a, ClassId b) { return n.names[a] < n.names[b]; });
  i.sorted_names.reserve(num_names);
  for (const ClassId c : i.sorted_to_class) i.sorted_names.push_back(n.names[c]);
  i.spellable.resize(num_names);
  for (uint32_t c = 0; c < num_names; ++c) {
    i.spellable[c] = is_spellable(n.names[c]);
    if (n.ranks[c] != kNone) i.num_ranks = std::max(i.num_ranks, n.ranks[c] + 1);
  }
  i.by_rank.assign(i.num_ranks, kNone);
  for (uint32_t c = 0; c < num_names; ++c) {
    if (n.ranks[c] != kNone) i.by_rank[n.ranks[c]] = c;
  }
  i.is_required.assign(num_names, false);
  for (const ClassId c : n.required) {
    i.is_required[c] = true;
    if (n.ranks[c] == kNone) i.required_unranked.push_back(c);
  }
  i.listing_order.resize(num_names);
  for (uint32_t c = 0; c < num_names; ++c) i.listing_order[c] = c;
  std::stable_sort(i.listing_order.begin(), i.listing_order.end(), [&](ClassId a, ClassId b) {
    return std::pair(n.ranks[a], !i.is_required[a]) < std::pair(n.ranks[b], !i.is_required[b]);
  });
  i.required_below.assign(i.num_ranks + 1, 0);
  for (uint32_t r = 0; r < i.num_ranks; ++r) {
    i.required_below[r + 1] = i.required_below[r] + (i.by_rank[r] != kNone && i.is_required[i.by_rank[r]] ? 1 : 0);
  }
}

// The formula of the container without entries.
FormulaId Containers::first_formula(const Node& n) {
  std::vector<FormulaId> built;
  for (const FormulaNode& f : n.formula) {
    std::vector<FormulaId> parts;
    for (const uint32_t part : f.parts) parts.push_back(built[part]);
    switch (f.kind) {
      case FormulaNode::kFalse:
        built.push_back(FormulaPool::kFalse);
        break;
      case FormulaNode::kTrue:
        built.push_back(FormulaPool::kTrue);
        break;
      case FormulaNode::kClaim: {
        const Claim& c = n.claims[f.claim];
        const bool met = (c.kind == Claim::kMember && c.classes.empty()) || (c.kind == Claim::kMost && c.classes.empty()) ||
                         ((c.kind == Claim::kSome || c.kind == Claim::kCountMin) && c.count == 0);
        const bool failed = c.kind == Claim::kSome && c.count > 0 && c.classes.empty();
        built.push_back(met ? FormulaPool::kTrue : failed ? FormulaPool::kFalse : formulas_.claim(f.claim, c.count));
        break;
      }
      case FormulaNode::kAnd:
        built.push_back(formulas_.all_of(std::move(parts)));
        break;
      case FormulaNode::kOr:
        built.push_back(formulas_.any_of(std::move(parts)));
        break;
    }
  }
  return built.empty() ? FormulaPool::kTrue : built.back();
}

// Which claims speak of the entries of each class, of their presence, and of their number.
void Containers::file_claims(const Node& n, Info& i) {
  i.speaking.resize(n.num_classes());
  i.presence.resize(n.num_classes());
  i.claims_of.resize(n.num_classes());
  for (uint32_t claim = 0; claim < n.claims.size(); ++claim) {
    const Claim& c = n.claims[claim];
    if (c.kind == Claim::kCountMin || c.kind == Claim::kCountMax) {
      i.counting.push_back(claim);
      continue;
    }
    std::vector<ClaimBits>& by_class = c.kind == Claim::kHas || c.kind == Claim::kLacks ? i.presence : i.speaking;
    for (const ClassId cls : c.classes) {
      by_class[cls].insert(claim);
      i.claims_of[cls].push_back(claim);
    }
  }
}

}  // namespace gd
