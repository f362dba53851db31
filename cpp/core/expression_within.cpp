// Whether one language lies within another, as far as the forms of two expressions show it: no states are made.
#include <algorithm>

#include "expression.h"

namespace gd {
namespace {

constexpr size_t kBytesOfEntry = 48;     // of a hash table
constexpr uint32_t kMostLiterals = 100;  // that are looked at for a simpler form

}  // namespace

// Whether the form of e shows that its strings are some of those of `unit`, a spelled character or so.
bool ExpressionPool::is_part_of(ExprId e, ExprId unit) const {
  for (;; e = exprs_[e].b, unit = exprs_[unit].b) {
    if (e == unit) return true;
    const Expr& x = exprs_[e];
    const Expr& u = exprs_[unit];
    if (x.kind == Kind::kAlternate)
      return std::all_of(parts(x).begin(), parts(x).end(), [&](ExprId part) { return is_part_of(part, unit); });
    if (u.kind == Kind::kAlternate)
      return std::any_of(parts(u).begin(), parts(u).end(), [&](ExprId part) { return is_part_of(e, part); });
    if (x.kind == Kind::kClass && u.kind == Kind::kClass) return sets_[u.a].includes(sets_[x.a]);
    if (x.kind != Kind::kConcat || u.kind != Kind::kConcat || !is_part_of(x.a, u.a)) return false;
  }
}

// Whether the form of e shows that it is one of the units that the loop repeats.
bool ExpressionPool::is_unit(ExprId e, ExprId loop) const { return is_part_of(e, exprs_[loop].a); }

// Whether a text is units of the loop, one after another, as far as classes of bytes show it.
bool ExpressionPool::are_units(std::string_view text, ExprId loop) const {
  const auto begins = [&](ExprId unit, std::string_view rest) -> size_t {  // the bytes of the unit that the text begins with
    size_t length = 0;
    for (;; unit = exprs_[unit].b) {
      const Expr& u = exprs_[unit];
      const Expr& first = u.kind == Kind::kConcat ? exprs_[u.a] : u;
      if (first.kind != Kind::kClass || length == rest.size()) return 0;
      if (!sets_[first.a].contains(static_cast<uint8_t>(rest[length]))) return 0;
      ++length;
      if (u.kind != Kind::kConcat) return length;
    }
  };
  const ExprId repeated = exprs_[loop].a;
  while (!text.empty()) {
    size_t length = 0;
    if (exprs_[repeated].kind == Kind::kAlternate) {
      for (const ExprId unit : parts(exprs_[repeated])) length = std::max(length, begins(unit, text));
    } else {
      length = begins(repeated, text);
    }
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

// Whether the form of e shows that its strings are some of the loop's, x*.
bool ExpressionPool::is_within(ExprId e, ExprId loop) {
  const auto key = [&](ExprId id) { return (uint64_t{id} << 32) | loop; };
  const auto known = [&](ExprId id) -> Tri {
    if (id == loop || id == kEpsilon) return Tri::kYes;
    const auto found = within_.find(key(id));
    return found == within_.end() ? Tri::kUnknown : found->second ? Tri::kYes : Tri::kNo;
  };
  if (const Tri answer = known(e); answer != Tri::kUnknown) return answer == Tri::kYes;
  const auto part_is_within = [&](ExprId part) { return is_unit(part, loop) || is_within(part, loop); };
  bool result = true;
  std::vector<ExprId> spine;  // in a loop: it may be long
  for (; result && exprs_[e].kind == Kind::kConcat && known(e) == Tri::kUnknown; e = exprs_[e].b) {
    spine.push_back(e);
    result = part_is_within(exprs_[e].a);
  }
  if (result && (spine.empty() || known(e) == Tri::kUnknown)) {
    const Expr x = exprs_[e];
    const std::vector<ExprId> all = x.kind == Kind::kAlternate || x.kind == Kind::kIntersect
                                        ? std::vector<ExprId>(parts(x).begin(), parts(x).end())
                                        : std::vector<ExprId>{};
    result = is_unit(e, loop) || (x.kind == Kind::kRepeat && part_is_within(x.a)) ||
             (x.kind == Kind::kAlternate && std::all_of(all.begin(), all.end(), part_is_within)) ||
             (x.kind == Kind::kIntersect && std::any_of(all.begin(), all.end(), part_is_within));
    if (x.kind == Kind::kLiterals && x.c - x.b <= kMostLiterals) {
      const std::vector<std::string>& set = *literal_sets_[x.a];
      result = std::all_of(set.begin() + x.b, set.begin() + x.c,
                           [&](const std::string& text) { return are_units(std::string_view(text).substr(x.d), loop); });
    }
    within_.emplace(key(e), result);
  } else if (result) {
    result = known(e) == Tri::kYes;
  }
  for (const ExprId suffix : spine) within_.emplace(key(suffix), result);
  memory_bytes_ += (spine.size() + 1) * kBytesOfEntry;
  return result;
}

}  // namespace gd
