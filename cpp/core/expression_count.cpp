// How many strings an expression has.
#include <algorithm>
#include <unordered_set>

#include "expression.h"

namespace gd {

// How many of the strings of a set of literals, between two fixed texts, match; nothing for any other expression.
std::optional<uint64_t> ExpressionPool::num_literals(ExprId root) {
  const std::vector<ExprId> conjuncts = exprs_[root].kind == Kind::kIntersect
                                            ? std::vector<ExprId>(parts(exprs_[root]).begin(), parts(exprs_[root]).end())
                                            : std::vector<ExprId>{root};
  for (const ExprId conjunct : conjuncts) {
    std::string before, after;
    std::optional<Expr> literals;
    bool is_listed = true;
    for (ExprId at = conjunct; is_listed; at = exprs_[at].b) {
      const Expr& e = exprs_[at];
      const Expr& part = e.kind == Kind::kConcat ? exprs_[e.a] : e;
      if (part.kind == Kind::kLiterals && !literals) {
        literals = part;
      } else if (part.kind == Kind::kClass && sets_[part.a].count() == 1) {
        sets_[part.a].for_each([&](uint8_t byte) { (literals ? after : before).push_back(static_cast<char>(byte)); });
      } else {
        is_listed = false;
      }
      if (e.kind != Kind::kConcat) break;
    }
    if (!is_listed || !literals) continue;
    uint64_t count = 0;
    for (uint32_t i = literals->b; i < literals->c; ++i) {
      work_.tick();
      const std::string text = before + (*literal_sets_[literals->a])[i].substr(literals->d) + after;
      const auto matches = [&](ExprId e) {
        for (size_t at = 0; at < text.size() && e != kEmpty; ++at) e = step(e, static_cast<uint8_t>(text[at]));
        return nullable(e);
      };
      const auto can_come = [&](char c) { return alphabet_.contains(static_cast<uint8_t>(c)); };
      count += std::all_of(text.begin(), text.end(), can_come) &&
               std::all_of(conjuncts.begin(), conjuncts.end(), [&](ExprId e) { return e == conjunct || matches(e); });
    }
    return count;
  }
  return std::nullopt;
}

uint64_t ExpressionPool::num_strings(ExprId root) {
  // Depth-first over the states; a state met again on the present path is a cycle of live states: without end.
  if (string_counts_.size() < exprs_.size()) string_counts_.resize(exprs_.size(), 0);
  if (root < string_counts_.size() && string_counts_[root] != 0) return string_counts_[root];
  if (!is_nonempty(root)) return 0;
  if (const std::optional<uint64_t> count = num_literals(root)) {
    if (string_counts_.size() < exprs_.size()) string_counts_.resize(exprs_.size(), 0);
    return string_counts_[root] = *count;
  }
  struct Visit {
    ExprId id;
    uint32_t next_byte;
    uint64_t sum;
  };
  std::vector<Visit> stack{{root, 0, nullable(root) ? uint64_t{1} : 0}};
  std::unordered_set<ExprId> on_path{root};
  bool endless = false;
  while (!stack.empty() && !endless) {
    Visit& visit = stack.back();
    const ExprId* row = transitions(visit.id);
    bool descended = false;
    while (visit.next_byte < 256) {
      const uint32_t byte = visit.next_byte++;
      const ExprId target = row[byte];
      if (target == kEmpty || !alphabet_.contains(static_cast<uint8_t>(byte))) continue;
      if (target < string_counts_.size() && string_counts_[target] != 0) {
        visit.sum = std::min(kManyStrings, visit.sum + string_counts_[target]);
        if (visit.sum >= kManyStrings) endless = true;
      } else if (on_path.contains(target) || stack.size() > 100000) {
        endless = true;
      } else {
        on_path.insert(target);
        stack.push_back({target, 0, nullable(target) ? uint64_t{1} : 0});  // `visit` dangles from here on
        descended = true;
      }
      if (endless || descended) break;
    }
    if (endless || descended) continue;
    const Visit finished = stack.back();
    stack.pop_back();
    on_path.erase(finished.id);
    if (string_counts_.size() < exprs_.size()) string_counts_.resize(exprs_.size(), 0);
    string_counts_[finished.id] = finished.sum;
    if (!stack.empty()) stack.back().sum = std::min(kManyStrings, stack.back().sum + finished.sum);
  }
  if (endless) {  // every state on the path reaches the cycle
    if (string_counts_.size() < exprs_.size()) string_counts_.resize(exprs_.size(), 0);
    for (const Visit& visit : stack) string_counts_[visit.id] = kManyStrings;
    return kManyStrings;
  }
  return string_counts_[root];
}

}  // namespace gd
