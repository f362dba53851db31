// Which characters a state loops on, as far as that is seen quickly: most tokens that stay inside a wide state (".*", "[^/]*", ".*foo.*")
// are made of such characters alone, and need not be followed byte by byte.

#include <algorithm>
#include <bit>

#include "expression.h"

namespace gd {
namespace {

GroupSet better(GroupSet a, GroupSet b) { return std::popcount(b) > std::popcount(a) ? b : a; }

// The ASCII groups of which `accepts` takes every member.
template <class Accepts>
GroupSet ascii_groups(Accepts accepts) {
  GroupSet groups = kPlainGroups & ~(kNonAsciiGroup | kWideSpaceGroup);
  for (uint32_t byte = 0; byte < 128; ++byte) {
    if (!accepts(static_cast<uint8_t>(byte))) groups &= ~kAsciiGroups[byte];
  }
  return groups;
}

// Calls visit(state, byte, group) for each byte that may follow in well-formed UTF-8 beyond ASCII.
template <class Visit>
void for_each_utf8(const Utf8State& state, Visit visit) {
  const uint32_t low = state.remaining == 0 ? 0xC2 : state.low;
  const uint32_t high = state.remaining == 0 ? 0xF4 : state.high;
  for (uint32_t byte = low; byte <= high; ++byte) {
    Utf8State next = state;
    const GroupSet group = step_utf8(next, static_cast<uint8_t>(byte));
    visit(next, static_cast<uint8_t>(byte), group);
  }
}

constexpr GroupSet kBeyondAscii = kNonAsciiGroup | kWideSpaceGroup;

}  // namespace

// The characters that lead from `loop` to a state of which `returns` is true, for all that is in between `is_inside`.
template <class Returns, class IsInside>
GroupSet ExpressionPool::looping_characters(ExprId loop, Returns returns, IsInside is_inside) {
  const ExprId* row = transitions(loop);
  GroupSet groups = kBeyondAscii | ascii_groups([&](uint8_t byte) { return returns(row[byte]); });
  struct Inside {
    ExprId e;
    Utf8State utf8;
    bool operator==(const Inside&) const = default;
  };
  std::vector<Inside> inside{{loop, {}}};
  for (size_t i = 0; i < inside.size() && (groups & kNonAsciiGroup) != 0; ++i) {
    const Inside from = inside[i];
    const ExprId* next = transitions(from.e);
    for_each_utf8(from.utf8, [&](const Utf8State& utf8, uint8_t byte, GroupSet group) {
      const ExprId e = next[byte];
      if (utf8.remaining == 0) {
        if (!returns(e)) groups &= ~group;
      } else if (e == kEmpty || !is_inside(e)) {
        groups &= ~kBeyondAscii;
      } else if (std::find(inside.begin(), inside.end(), Inside{e, utf8}) == inside.end()) {
        inside.push_back({e, utf8});
      }
    });
  }
  return (groups & kNonAsciiGroup) != 0 ? groups : groups & ~kBeyondAscii;
}

GroupSet ExpressionPool::unit_characters(ExprId loop) {
  if (const auto known = unit_characters_.find(loop); known != unit_characters_.end()) return known->second;
  const GroupSet groups =
      looping_characters(loop, [&](ExprId e) { return e == loop; }, [&](ExprId e) { return e != loop && ends_with(e, loop); });
  unit_characters_.emplace(loop, groups);
  return groups;
}

// Whether the form of e shows that L(part) is within L(e).
bool ExpressionPool::includes(ExprId e, ExprId part) const {
  if (e == part) return true;
  const Expr& x = exprs_[e];
  if (x.kind == Kind::kConcat) return exprs_[x.a].nullable && includes(x.b, part);
  if (x.kind != Kind::kAlternate) return false;
  return std::any_of(parts(x).begin(), parts(x).end(), [&](ExprId p) { return includes(p, part); });
}

GroupSet ExpressionPool::repeatable_characters(ExprId loop) {
  if (const auto known = repeatable_characters_.find(loop); known != repeatable_characters_.end()) return known->second;
  const GroupSet groups = looping_characters(loop, [&](ExprId e) { return includes(e, loop); }, [](ExprId) { return true; });
  repeatable_characters_.emplace(loop, groups);
  return groups;
}

// The characters c with c L(e) within L(e): whatever stands in front, the language is still there.
GroupSet ExpressionPool::prependable(ExprId id) {
  const Expr e = exprs_[id];
  switch (e.kind) {
    case Kind::kConcat:
      return prependable(e.a);
    case Kind::kAlternate:
    case Kind::kIntersect: {
      GroupSet groups = kPlainGroups;
      for (uint32_t i = 0; i < e.b && groups != 0; ++i) groups &= prependable(parts_[e.a + i]);
      return groups;
    }
    case Kind::kRepeat:
      if (e.c == kNone) return repeatable_characters(repeat(e.a, 0, kNone));
      return e.b > 0 ? prependable(e.a) : 0;
    default:
      return 0;
  }
}

bool ExpressionPool::is_plainly_finite(ExprId id) const {
  const Expr& e = exprs_[id];
  switch (e.kind) {
    case Kind::kConstant:
    case Kind::kClass:
    case Kind::kLiterals:
      return true;
    case Kind::kConcat:
      return is_plainly_finite(e.a) && is_plainly_finite(e.b);
    case Kind::kAlternate:
      return std::all_of(parts(e).begin(), parts(e).end(), [&](ExprId part) { return is_plainly_finite(part); });
    case Kind::kRepeat:
      return e.c != kNone && is_plainly_finite(e.a);
    default:
      return false;
  }
}

GroupSet ExpressionPool::find_cover(ExprId id) {
  const ExprId* row = transitions(id);
  const GroupSet groups = better(form_cover(id), ascii_groups([&](uint8_t byte) { return row[byte] == id; }));
  if (covers_.size() < exprs_.size()) covers_.resize(exprs_.size(), 0);
  covers_[id] = groups | kKnownCover;
  return groups;
}

GroupSet ExpressionPool::steady_cover(ExprId id) {
  if (const auto known = steady_covers_.find(id); known != steady_covers_.end()) return known->second;
  const ExprId* row = transitions(id);
  const GroupSet groups = better(prependable(id), ascii_groups([&](uint8_t byte) { return row[byte] == id; }));
  steady_covers_.emplace(id, groups);
  return groups;
}

GroupSet ExpressionPool::form_cover(ExprId id) {
  const Expr e = exprs_[id];
  GroupSet groups = 0;
  switch (e.kind) {
    case Kind::kConcat:
      groups = form_cover(e.a);
      if (exprs_[e.a].nullable) groups = better(groups, form_cover(e.b));
      break;
    case Kind::kAlternate:
      for (uint32_t i = 0; i < e.b; ++i) {
        const ExprId part = parts_[e.a + i];
        const GroupSet found = better(groups, form_cover(part));
        if (found != groups && is_nonempty(part)) groups = found;
      }
      break;
    case Kind::kRepeat:
      groups = prependable(id);
      if (const GroupSet found = better(groups, form_cover(e.a)); found != groups && is_nonempty(e.a)) groups = found;
      break;
    case Kind::kIntersect: {
      // What can always go on, less finitely many texts, is never empty.
      groups = kPlainGroups;
      bool any = false;
      for (uint32_t i = 0; i < e.b && groups != 0; ++i) {
        const ExprId part = parts_[e.a + i];
        if (exprs_[part].kind == Kind::kComplement && is_plainly_finite(exprs_[part].a)) continue;
        any = true;
        groups &= prependable(part);
      }
      const auto in_alphabet = [&](uint8_t byte) { return alphabet_.contains(byte) && (kAsciiGroups[byte] & groups) != 0; };
      bool endless = false;
      for (uint8_t byte = 0; byte < 128; ++byte) endless = endless || in_alphabet(byte);
      if (!any || !endless) groups = 0;
      break;
    }
    default:
      break;
  }
  return groups;
}

GroupSet ExpressionPool::explored_cover(ExprId root) {
  if (const auto known = explored_covers_.find(root); known != explored_covers_.end()) return known->second;
  constexpr size_t kMostStates = 64;
  constexpr uint32_t kMostTries = 8;
  struct State {
    ExprId e;
    Utf8State utf8;
    bool operator==(const State&) const = default;
  };
  const auto explored = [&]() -> GroupSet {
    const ExprId* first = transitions(root);
    GroupSet groups = kBeyondAscii | ascii_groups([&](uint8_t byte) { return first[byte] != kEmpty; });
    for (uint32_t tries = 0; tries < kMostTries; ++tries) {
      if ((groups & kLetterGroups) == 0) return 0;  // few tokens would be covered
      // All states that are reached by these characters have to be live. A character that leads out is given up, and all begins anew.
      std::vector<State> states{{root, {}}};
      GroupSet lost = 0;
      const auto reach = [&](ExprId e, const Utf8State& utf8, GroupSet by) {
        if (e == kEmpty) {
          lost |= by;
        } else if (states.size() <= kMostStates && std::find(states.begin(), states.end(), State{e, utf8}) == states.end()) {
          states.push_back({e, utf8});
        }
      };
      for (size_t i = 0; i < states.size() && lost == 0; ++i) {
        const State from = states[i];
        const ExprId* row = transitions(from.e);
        if (from.utf8.remaining == 0) {
          ExprId last = kNone;
          for (uint32_t byte = 0x20; byte < 0x7F; ++byte) {
            if ((kAsciiGroups[byte] & groups) == 0 || row[byte] == last) continue;
            last = row[byte];
            reach(last, {}, kAsciiGroups[byte]);
          }
        }
        if ((groups & kNonAsciiGroup) == 0) continue;
        for_each_utf8(from.utf8, [&](const Utf8State& utf8, uint8_t byte, GroupSet group) {
          if ((groups & group) != 0) reach(row[byte], utf8, group);
        });
      }
      if (states.size() > kMostStates) return 0;
      if (lost == 0) {
        for (const State& state : states) {
          if (state.utf8.remaining == 0) explored_covers_.emplace(state.e, groups);
        }
        return groups;
      }
      groups &= ~lost;
      if ((groups & kNonAsciiGroup) == 0) groups &= ~kWideSpaceGroup;
    }
    return 0;
  };
  const GroupSet groups = explored();
  explored_covers_.emplace(root, groups);
  return groups;
}

}  // namespace gd
