// Whether an object or array can still be finished: the liveness of registers.
//
// Without a formula it is counting. With one it is a search for an implicant that can be realised, with early exit; a limit on its steps
// refuses, and never changes an answer. Results are remembered by register (Containers::satisfiable).

#include <algorithm>

#include "container.h"
#include "errors.h"

namespace gd {

bool Containers::is_finite(const Node& n, uint32_t pattern) {
  return expressions_.num_strings(regexes_[n.patterns[pattern]]) < ExpressionPool::kManyStrings;
}

// Whether the object can still be finished behind an entry that takes one of the pattern's keys away.
bool Containers::can_spare(RegisterId id, uint32_t pattern) {
  const Node& n = node(id);
  const std::vector<Entry> ways = entries(id, static_cast<uint32_t>(n.names.size()) + pattern);
  if (!is_finite(n, pattern)) return !ways.empty();
  return std::any_of(ways.begin(), ways.end(), [&](const Entry& entry) {
    Register behind = registers_[entry.next];
    behind.used = add_used(behind.used, TextPool::unread(pattern));
    return satisfiable(behind);
  });
}

// How many more keys of a pattern there are: strings of its language that are neither a name nor used.
uint64_t Containers::pattern_capacity(const Register& r, uint32_t pattern) {
  const Node& n = grammar_.nodes[r.node];
  const ExprId language = regexes_[n.patterns[pattern]];
  const uint64_t total = expressions_.num_strings(language);
  if (total >= ExpressionPool::kManyStrings) return total;
  const auto matches = [&](std::string_view text) {
    ExprId e = language;
    for (const char c : text) {
      if (!alphabet_.contains(static_cast<uint8_t>(c))) return false;  // not counted in `total`
      e = expressions_.step(e, static_cast<uint8_t>(c));
    }
    return expressions_.nullable(e);
  };
  uint64_t taken = 0;
  for (const std::string& name : n.names) taken += matches(name) ? 1 : 0;
  for (const TextId text : used_sets_[r.used]) {
    if (text == TextPool::kFresh) continue;
    if (text >= texts_.size()) {
      taken += text == TextPool::unread(pattern) ? 1 : 0;
    } else {
      taken += matches(texts_.suffix(text, 0)) ? 1 : 0;
    }
  }
  return total - std::min(total, taken);
}

bool Containers::could_finish(NodeId container) {
  info(container);
  Register r;
  r.node = container;
  r.formula = info(container).formula;
  return satisfiable(r);
}

bool Containers::satisfiable(RegisterId id) {
  uint8_t& known = satisfiable_[id];
  if (known != 0) return known == 2;
  const Register r = registers_[id];
  const bool result = satisfiable(r);
  if (frozen_) satisfiable_[id] = result ? 2 : 1;
  return result;
}

void Containers::spend(size_t& steps) const {
  expressions_.work().tick();
  if (++steps > limits_.max_search) {
    throw LimitError("max_search", "deciding whether an object or array can still be finished takes more than " +
                                       std::to_string(limits_.max_search) + " steps");
  }
}

// What a way to finish has to bring: the claims of one implicant of the formula, and the container's own bounds.
struct Containers::Goal {
  std::vector<uint32_t> members;                     // kMember claims that are relied on
  std::vector<std::pair<uint32_t, uint32_t>> somes;  // claim, how many are missing
  std::vector<std::pair<uint32_t, uint32_t>> mosts;  // claim, how many exceptions are left
  std::vector<ClassId> has;                          // names that must still come
  std::vector<ClassId> lacks;
  ClaimBits told;        // the claims that these facts tell something of
  uint64_t minimum = 0;  // entries that must still come
  uint64_t maximum = 0;  // entries that may still come

  bool is_short() const {
    return std::any_of(somes.begin(), somes.end(), [](const auto& some) { return some.second > 0; });
  }
};

bool Containers::satisfiable(const Register& r) {
  if (r.formula == FormulaPool::kFalse) return false;
  const Node& n = grammar_.nodes[r.node];
  expressions_.work().tick(1 + n.num_classes() / 32);
  const Info& i = info(r.node);
  Goal goal;
  goal.minimum = n.min_count > r.count && i.counts ? n.min_count - r.count : 0;
  goal.maximum = i.max_count == kNone ? kNone : i.max_count - std::min(r.count, i.max_count);
  if (n.kind == Node::kMembers) {
    for (uint32_t rank = r.position; rank < i.num_ranks; ++rank) {
      if (i.required_below[i.num_ranks] == i.required_below[rank]) break;
      const ClassId c = i.by_rank[rank];
      if (c != kNone && i.is_required[c]) goal.has.push_back(c);
    }
    for (const ClassId c : i.required_unranked) {
      if (!is_seen(r, c)) goal.has.push_back(c);
    }
  }
  if (!i.presence.empty()) {
    for (const ClassId c : goal.has) goal.told.insert(i.presence[c]);
  }
  size_t steps = 0;
  return search(r, {r.formula}, std::move(goal), steps);
}

// What the facts of `goal` say of a formula: kYes it holds already, kNo it can't hold any more, kOpen neither. A formula has no
// claim on the presence of a name that can't come any more (`advance`).
Containers::Verdict Containers::judge(const Register& r, FormulaId f, const Goal& goal) {
  expressions_.work().tick();
  const FormulaPool::Item& item = formulas_[f];
  if (f > FormulaPool::kTrue && !item.claims.meets(goal.told)) return Verdict::kOpen;
  switch (item.kind) {
    case FormulaNode::kFalse:
      return Verdict::kNo;
    case FormulaNode::kTrue:
      return Verdict::kYes;
    case FormulaNode::kAnd:
    case FormulaNode::kOr: {
      const Verdict absorbing = item.kind == FormulaNode::kAnd ? Verdict::kNo : Verdict::kYes;
      Verdict result = item.kind == FormulaNode::kAnd ? Verdict::kYes : Verdict::kNo;
      for (const FormulaId part : item.parts) {
        const Verdict verdict = judge(r, part, goal);
        if (verdict == absorbing) return absorbing;
        if (verdict == Verdict::kOpen) result = Verdict::kOpen;
      }
      return result;
    }
    case FormulaNode::kClaim:
      break;
  }
  const Claim& c = grammar_.nodes[r.node].claims[item.claim];
  const auto contains = [](const std::vector<uint32_t>& list, uint32_t value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  switch (c.kind) {
    case Claim::kMember:
      return contains(goal.members, item.claim) ? Verdict::kYes : Verdict::kOpen;
    case Claim::kHas:
      if (contains(goal.has, c.classes[0])) return Verdict::kYes;
      return contains(goal.lacks, c.classes[0]) ? Verdict::kNo : Verdict::kOpen;
    case Claim::kLacks:
      if (contains(goal.lacks, c.classes[0])) return Verdict::kYes;
      return contains(goal.has, c.classes[0]) ? Verdict::kNo : Verdict::kOpen;
    default:
      return Verdict::kOpen;
  }
}

// Adds a claim to the facts; false if that contradicts them.
bool Containers::assume(const Register& r, const FormulaPool::Item& item, Goal& goal) {
  const Node& n = grammar_.nodes[r.node];
  const Claim& c = n.claims[item.claim];
  switch (c.kind) {
    case Claim::kMember:
      goal.members.push_back(item.claim);
      goal.told.insert(item.claim);
      return std::all_of(goal.has.begin(), goal.has.end(), [&](ClassId cls) {
        return !std::binary_search(c.classes.begin(), c.classes.end(), cls) || is_readable(n, cls, goal.members);
      });
    case Claim::kSome:
      goal.somes.emplace_back(item.claim, item.count);
      return true;
    case Claim::kMost:
      goal.mosts.emplace_back(item.claim, item.count);
      return true;
    case Claim::kHas:
      goal.has.push_back(c.classes[0]);
      goal.told.insert(infos_[r.node].presence[c.classes[0]]);
      return goal.has.size() <= goal.maximum && is_readable(n, c.classes[0], goal.members);
    case Claim::kLacks:
      goal.lacks.push_back(c.classes[0]);
      goal.told.insert(infos_[r.node].presence[c.classes[0]]);
      return true;
    case Claim::kCountMin:
      goal.minimum = std::max(goal.minimum, uint64_t{item.count});
      return goal.minimum <= goal.maximum;
    case Claim::kCountMax:
      goal.maximum = std::min(goal.maximum, uint64_t{item.count});
      return goal.minimum <= goal.maximum && goal.has.size() <= goal.maximum;
  }
  return false;
}

// Looks for an implicant of the formulas that can be realised; the first one found is enough. As in the DPLL procedure, what
// is known settles what it can before a disjunction with several open branches is split, the one with the fewest first.
bool Containers::search(const Register& r, std::vector<FormulaId> pending, Goal goal, size_t& steps) {
  for (;;) {
    std::vector<FormulaId> open;
    bool changed = false;
    for (size_t i = 0; i < pending.size(); ++i) {  // grows while it is walked
      spend(steps);
      const FormulaId f = pending[i];
      const Verdict verdict = judge(r, f, goal);
      if (verdict == Verdict::kNo) return false;
      if (verdict == Verdict::kYes) continue;
      const FormulaPool::Item& item = formulas_[f];
      if (item.kind == FormulaNode::kClaim) {
        if (!assume(r, item, goal)) return false;
        changed = true;
      } else if (item.kind == FormulaNode::kAnd) {
        pending.insert(pending.end(), item.parts.begin(), item.parts.end());
      } else {
        uint32_t num_open = 0;
        FormulaId last = FormulaPool::kFalse;
        for (const FormulaId part : item.parts) {
          if (judge(r, part, goal) == Verdict::kNo) continue;
          ++num_open;
          last = part;
        }
        if (num_open == 1) {
          pending.push_back(last);
        } else {
          open.push_back(f);
        }
      }
    }
    pending = std::move(open);
    if (!changed) break;
  }
  if (pending.empty()) return realizable(r, goal, steps);
  const auto branches = [&](FormulaId f) {
    std::vector<FormulaId> result;
    for (const FormulaId part : formulas_[f].parts) {
      if (judge(r, part, goal) != Verdict::kNo) result.push_back(part);
    }
    return result;
  };
  size_t best = 0;
  std::vector<FormulaId> fewest = branches(pending[0]);
  for (size_t i = 1; i < pending.size(); ++i) {
    std::vector<FormulaId> candidates = branches(pending[i]);
    if (candidates.size() >= fewest.size()) continue;
    best = i;
    fewest = std::move(candidates);
  }
  pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(best));
  for (const FormulaId branch : fewest) {
    std::vector<FormulaId> next = pending;
    next.push_back(branch);
    if (search(r, std::move(next), goal, steps)) return true;
  }
  return false;
}

bool Containers::realizable(const Register& r, Goal& goal, size_t& steps) {
  if (goal.minimum > goal.maximum) return false;
  const Node& n = grammar_.nodes[r.node];
  if (n.kind == Node::kElements) return fill_array(r, goal, r.count, 0, steps);
  return realizable_object(r, goal, steps);
}

namespace {

// Whether `pick` holds every claim of `claims` that covers class `cls`.
template <class Claims>
bool holds(const Node& n, const Pick& pick, ClassId cls, const Claims& claims) {
  return std::all_of(claims.begin(), claims.end(), [&](uint32_t claim) {
    const std::vector<ClassId>& classes = n.claims[claim].classes;
    return !std::binary_search(classes.begin(), classes.end(), cls) ||
           std::binary_search(pick.claims.begin(), pick.claims.end(), claim);
  });
}

bool covers(const Node& n, uint32_t claim, ClassId cls) {
  const std::vector<ClassId>& classes = n.claims[claim].classes;
  return std::binary_search(classes.begin(), classes.end(), cls);
}

// Books one entry read by `pick`: false if a "most" claim has no exception left. `goal` is changed either way.
template <class Goal>
bool book(const Node& n, const Pick& pick, ClassId cls, Goal& goal) {
  for (auto& [claim, missing] : goal.somes) {
    if (missing > 0 && covers(n, claim, cls) && std::binary_search(pick.claims.begin(), pick.claims.end(), claim)) --missing;
  }
  for (auto& [claim, exceptions] : goal.mosts) {
    if (!covers(n, claim, cls) || std::binary_search(pick.claims.begin(), pick.claims.end(), claim)) continue;
    if (exceptions == 0) return false;
    --exceptions;
  }
  if (goal.minimum > 0) --goal.minimum;
  if (goal.maximum != kNone) --goal.maximum;
  return true;
}

// Whether `pick` costs no exception of any "most" claim.
template <class Goal>
bool is_free(const Node& n, const Pick& pick, ClassId cls, const Goal& goal) {
  return std::all_of(goal.mosts.begin(), goal.mosts.end(), [&](const auto& most) {
    return !covers(n, most.first, cls) || std::binary_search(pick.claims.begin(), pick.claims.end(), most.first);
  });
}

}  // namespace

// Whether an entry of the class can be read with a pick that holds all of `members` that speak of it.
bool Containers::is_readable(const Node& n, ClassId cls, const std::vector<uint32_t>& members) {
  return std::any_of(n.values[cls].begin(), n.values[cls].end(),
                     [&](const Pick& pick) { return pick_is_live(n, cls, pick) && holds(n, pick, cls, members); });
}

bool Containers::realizable_object(const Register& r, Goal& goal, size_t& steps) {
  const Node& n = grammar_.nodes[r.node];
  if (goal.has.size() > goal.maximum) return false;
  const auto readable = [&](ClassId cls) { return is_readable(n, cls, goal.members); };
  for (const ClassId cls : goal.has) {
    if (!readable(cls)) return false;
  }
  if (goal.somes.empty() && goal.mosts.empty()) {  // only a number of entries to reach
    uint64_t reachable = goal.has.size();
    for (ClassId cls = 0; cls < n.num_classes() && reachable < goal.minimum; ++cls) {
      spend(steps);
      if (cls >= n.names.size()) {
        if (readable(cls)) reachable += pattern_capacity(r, cls - static_cast<uint32_t>(n.names.size()));
      } else if (is_open(r, cls) && std::find(goal.has.begin(), goal.has.end(), cls) == goal.has.end() &&
                 std::find(goal.lacks.begin(), goal.lacks.end(), cls) == goal.lacks.end() && readable(cls)) {
        ++reachable;
      }
    }
    return reachable >= goal.minimum;
  }
  std::vector<ClassId> must = goal.has;
  std::vector<ClassId> spent;
  return fill_object(r, goal, must, spent, steps);
}

// Depth-first: first the names that must come, then entries for claims that are short, then entries for the minimum.
bool Containers::fill_object(const Register& r, Goal& goal, std::vector<ClassId>& must, std::vector<ClassId>& spent,
                             size_t& steps) {
  spend(steps);
  const Node& n = grammar_.nodes[r.node];
  const auto attempt = [&](ClassId cls, const Pick& pick) {
    Goal next = goal;
    if (next.maximum == 0 || !book(n, pick, cls, next)) return false;
    spent.push_back(cls);
    const bool done = fill_object(r, next, must, spent, steps);
    spent.pop_back();
    return done;
  };
  if (!must.empty()) {
    const ClassId cls = must.back();
    must.pop_back();
    for (const Pick& pick : n.values[cls]) {
      if (pick_is_live(n, cls, pick) && holds(n, pick, cls, goal.members) && attempt(cls, pick)) return true;
    }
    must.push_back(cls);
    return false;
  }
  const bool is_short = goal.is_short();
  if (!is_short && goal.minimum == 0) return true;
  if (spent.size() > 2000) throw LimitError("max_search", "an object with alternatives needs more than 2,000 members");
  for (ClassId cls = 0; cls < n.num_classes(); ++cls) {
    const auto times = static_cast<uint64_t>(std::count(spent.begin(), spent.end(), cls));
    if (cls >= n.names.size()) {
      if (pattern_capacity(r, cls - static_cast<uint32_t>(n.names.size())) <= times) continue;
    } else if (times > 0 || !is_open(r, cls) || std::find(goal.lacks.begin(), goal.lacks.end(), cls) != goal.lacks.end()) {
      continue;
    }
    for (const Pick& pick : n.values[cls]) {
      if (!pick_is_live(n, cls, pick) || !holds(n, pick, cls, goal.members)) continue;
      if (!is_short && cls >= n.names.size() && goal.maximum >= goal.minimum && is_free(n, pick, cls, goal) &&
          pattern_capacity(r, cls - static_cast<uint32_t>(n.names.size())) >= times + goal.minimum) {
        return true;
      }
      if (is_short) {
        const bool helps = std::any_of(goal.somes.begin(), goal.somes.end(), [&](const auto& some) {
          return some.second > 0 && covers(n, some.first, cls) &&
                 std::binary_search(pick.claims.begin(), pick.claims.end(), some.first);
        });
        if (!helps) continue;
      }
      if (attempt(cls, pick)) return true;
    }
  }
  return false;
}

bool Containers::fill_array(const Register& r, Goal& goal, uint64_t index, uint32_t depth, size_t& steps) {
  const Node& n = grammar_.nodes[r.node];
  if (depth > 2000) throw LimitError("max_search", "an array with alternatives needs more than 2,000 items");
  for (;;) {
    spend(steps);
    if (!goal.is_short() && goal.minimum == 0) return true;
    if (goal.maximum == 0) return false;
    const ClassId cls = static_cast<ClassId>(std::min(index, uint64_t{n.prefix}));
    std::vector<const Pick*> picks;
    for (const Pick& pick : n.values[cls]) {
      if (pick_is_live(n, cls, pick) && holds(n, pick, cls, goal.members)) picks.push_back(&pick);
    }
    if (picks.empty()) return false;
    if (cls == n.prefix) {
      // Every later item is alike. If each missing claim has a pick that costs nothing, the items can be told off one by one.
      uint64_t needed = 0;
      bool easy = std::any_of(picks.begin(), picks.end(), [&](const Pick* p) { return is_free(n, *p, cls, goal); });
      for (const auto& [claim, missing] : goal.somes) {
        if (missing == 0) continue;
        needed += missing;
        easy = easy && std::any_of(picks.begin(), picks.end(), [&](const Pick* p) {
                 return is_free(n, *p, cls, goal) && std::binary_search(p->claims.begin(), p->claims.end(), claim);
               });
      }
      if (easy && std::max(needed, goal.minimum) <= goal.maximum) return true;
      if (goal.is_short()) {  // from here on only items that bring a missing claim are worth a place
        std::erase_if(picks, [&](const Pick* p) {
          return std::none_of(goal.somes.begin(), goal.somes.end(), [&](const auto& some) {
            return some.second > 0 && covers(n, some.first, cls) &&
                   std::binary_search(p->claims.begin(), p->claims.end(), some.first);
          });
        });
        if (picks.empty()) return false;
      }
    }
    if (picks.size() == 1) {  // no choice: go on in this loop
      if (!book(n, *picks[0], cls, goal)) return false;
      ++index;
      continue;
    }
    for (const Pick* pick : picks) {
      Goal next = goal;
      if (book(n, *pick, cls, next) && fill_array(r, next, index + 1, depth + 1, steps)) return true;
    }
    return false;
  }
}

}  // namespace gd
