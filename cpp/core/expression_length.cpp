// How long the strings of an expression have to be: what the way to the end of a document is estimated by.

#include <algorithm>
#include <unordered_map>

#include "expression.h"

namespace gd {
namespace {

constexpr uint32_t kUnknownLength = 0xFFFFFFFF;

uint32_t plus(uint32_t a, uint32_t b) { return std::min(a + b, ExpressionPool::kEndless); }

uint32_t times(uint64_t count, uint32_t length) {
  return static_cast<uint32_t>(std::min<uint64_t>(count * length, ExpressionPool::kEndless));
}

}  // namespace

uint32_t ExpressionPool::least_length(ExprId e) {
  if (exprs_[e].nullable) return 0;
  if (least_lengths_.size() <= e) least_lengths_.resize(exprs_.size(), kUnknownLength);
  if (least_lengths_[e] == kUnknownLength) {
    const uint32_t length = find_least_length(e);
    least_lengths_[e] = length;
  }
  return least_lengths_[e];
}

uint32_t ExpressionPool::find_least_length(ExprId id) {
  const Expr e = exprs_[id];
  switch (e.kind) {
    case Kind::kClass: {
      ByteSet set = sets_[e.a];
      set.intersect(alphabet_);
      return set.empty() ? kEndless : 1;
    }
    case Kind::kConcat:
      return plus(least_length(e.a), least_length(e.b));
    case Kind::kAlternate: {
      uint32_t least = kEndless;
      for (uint32_t i = 0; i < e.b; ++i) least = std::min(least, least_length(parts_[e.a + i]));
      return least;
    }
    case Kind::kRepeat:
      return times(e.b, least_length(e.a));
    case Kind::kIntersect: {
      uint32_t least = 1;
      for (uint32_t i = 0; i < e.b; ++i) least = std::max(least, least_length(parts_[e.a + i]));
      return least;
    }
    case Kind::kLiterals: {
      const std::vector<std::string>& all = *literal_sets_[e.a];
      uint32_t least = kEndless;
      for (uint32_t i = e.b; i < e.c; ++i) least = std::min(least, static_cast<uint32_t>(all[i].size()) - e.d);
      return least;
    }
    case Kind::kComplement:
      return 1;
    case Kind::kAutomaton:
      return automaton_distance(e.a, e.b);
    case Kind::kConstant:
      return id == kEmpty ? kEndless : 0;
  }
  return 0;
}

bool ExpressionPool::has_exact_length(ExprId id) {
  if (!full_alphabet_) return false;
  if (exact_lengths_.size() <= id) exact_lengths_.resize(exprs_.size(), Tri::kUnknown);
  if (exact_lengths_[id] != Tri::kUnknown) return exact_lengths_[id] == Tri::kYes;
  const Expr e = exprs_[id];
  bool result = true;
  switch (e.kind) {
    case Kind::kConcat:
      result = has_exact_length(e.a) && has_exact_length(e.b);
      break;
    case Kind::kRepeat:
      result = has_exact_length(e.a);
      break;
    case Kind::kAlternate:
      for (uint32_t i = 0; i < e.b && result; ++i) result = has_exact_length(parts_[e.a + i]);
      break;
    case Kind::kIntersect:
    case Kind::kComplement:
    case Kind::kAutomaton:
      result = false;
      break;
    case Kind::kClass:
    case Kind::kLiterals:
    case Kind::kConstant:
      break;
  }
  exact_lengths_[id] = result ? Tri::kYes : Tri::kNo;
  return result;
}

uint32_t ExpressionPool::farthest(ExprId id) {
  if (farthest_.size() <= id) farthest_.resize(exprs_.size(), kUnknownLength);
  if (farthest_[id] != kUnknownLength) return farthest_[id];
  const Expr e = exprs_[id];
  uint32_t result = 0;
  switch (e.kind) {
    case Kind::kClass:
      result = 1;
      break;
    case Kind::kConcat:
      result = plus(farthest(e.a), farthest(e.b));
      break;
    case Kind::kAlternate:
      for (uint32_t i = 0; i < e.b; ++i) result = std::max(result, farthest(parts_[e.a + i]));
      break;
    case Kind::kRepeat:
      result = times(std::max(e.b, 1U), farthest(e.a));
      break;
    case Kind::kLiterals: {
      const std::vector<std::string>& all = *literal_sets_[e.a];
      for (uint32_t i = e.b; i < e.c; ++i) result = std::max(result, static_cast<uint32_t>(all[i].size()) - e.d);
      break;
    }
    case Kind::kIntersect:
    case Kind::kComplement:
    case Kind::kAutomaton:
      result = std::min(explore_farthest(id), greatest_length(id));
      break;
    case Kind::kConstant:
      break;
  }
  if (farthest_.size() <= id) farthest_.resize(exprs_.size(), kUnknownLength);
  farthest_[id] = std::min(farthest_[id], result);
  return farthest_[id];
}

// All states that can be reached, and backwards from those that match.
uint32_t ExpressionPool::explore_farthest(ExprId start) {
  const size_t most_states = std::min<size_t>(600, farthest_credit_);
  std::vector<ExprId> states{start};
  std::unordered_map<ExprId, uint32_t> index{{start, 0}};
  std::vector<std::vector<uint32_t>> from(1);
  for (uint32_t i = 0; i < states.size(); ++i) {
    if (states.size() > most_states) {
      farthest_credit_ -= std::min(farthest_credit_, states.size());
      if (farthest_.size() < exprs_.size()) farthest_.resize(exprs_.size(), kUnknownLength);
      for (const ExprId state : states) {
        if (farthest_[state] == kUnknownLength) farthest_[state] = greatest_length(state);  // asked once, not from each of them
      }
      return kEndless;
    }
    const ExprId* next = transitions(states[i]);
    ExprId last = kEmpty;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const ExprId to = next[byte];
      if (to == kEmpty || to == last || !alphabet_.contains(static_cast<uint8_t>(byte))) continue;
      last = to;
      const auto [at, is_new] = index.try_emplace(to, static_cast<uint32_t>(states.size()));
      if (is_new) {
        states.push_back(to);
        from.emplace_back();
      }
      from[at->second].push_back(i);
    }
  }
  std::vector<uint32_t> layer;
  std::vector<bool> met(states.size(), false);
  for (uint32_t i = 0; i < states.size(); ++i) {
    if (!nullable(states[i])) continue;
    layer.push_back(i);
    met[i] = true;
  }
  uint32_t distance = 0;
  for (std::vector<uint32_t> next; !layer.empty(); layer.swap(next), next.clear(), ++distance) {
    for (const uint32_t to : layer) {
      for (const uint32_t i : from[to]) {
        if (!met[i]) next.push_back(i);
        met[i] = true;
      }
    }
  }
  const uint32_t result = distance == 0 ? 0 : distance - 1;
  if (farthest_.size() < exprs_.size()) farthest_.resize(exprs_.size(), kUnknownLength);
  for (const ExprId state : states) farthest_[state] = std::min(farthest_[state], result);  // what it reaches is among them
  return result;
}

// An upper bound of the bytes of e's longest string.
uint32_t ExpressionPool::greatest_length(ExprId id) const {
  const Expr& e = exprs_[id];
  uint32_t result = 0;
  switch (e.kind) {
    case Kind::kClass:
      return 1;
    case Kind::kConcat:
      return plus(greatest_length(e.a), greatest_length(e.b));
    case Kind::kAlternate:
      for (const ExprId part : parts(e)) result = std::max(result, greatest_length(part));
      return result;
    case Kind::kRepeat:
      return e.c == kNone ? kEndless : times(e.c, greatest_length(e.a));
    case Kind::kIntersect:
      result = kEndless;
      for (const ExprId part : parts(e)) result = std::min(result, greatest_length(part));
      return result;
    case Kind::kLiterals:
      for (uint32_t i = e.b; i < e.c; ++i) {
        result = std::max(result, static_cast<uint32_t>((*literal_sets_[e.a])[i].size()) - e.d);
      }
      return result;
    case Kind::kComplement:
    case Kind::kAutomaton:
      return kEndless;
    case Kind::kConstant:
      return id == kAny ? kEndless : 0;
  }
  return kEndless;
}

}  // namespace gd
