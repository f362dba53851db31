// Counted runs ("[a-z]{0,80}"): far from its limit a run is as good as one without, so that states do not differ by their counts.
#include <algorithm>
#include <bit>
#include <deque>
#include <unordered_set>

#include "expression.h"

namespace gd {

bool ExpressionPool::ends_with(ExprId e, ExprId tail) const {
  while (e != tail) {
    if (exprs_[e].kind != Kind::kConcat) return false;
    e = exprs_[e].b;
  }
  return true;
}

bool ExpressionPool::never_runs_out(ExprId e) const {
  const Expr& x = exprs_[e];
  switch (x.kind) {
    case Kind::kConcat:
      return never_runs_out(x.b);
    case Kind::kRepeat:
      return x.c == kNone;
    case Kind::kAlternate:
      return std::all_of(parts(x).begin(), parts(x).end(), [&](ExprId part) { return never_runs_out(part); });
    default:
      return e == kEmpty || e == kAny;
  }
}

ExpressionPool::CountedRun ExpressionPool::counted_run(ExprId e) {
  CountedRun run;
  std::vector<ExprId> before;
  ExprId at = e;
  while (exprs_[at].kind == Kind::kConcat) {
    const Expr node = exprs_[at];
    const Expr first = exprs_[node.a];
    if (first.kind == Kind::kIntersect && before.empty()) return bounded_intersection(node.a, node.b);
    if (first.kind == Kind::kRepeat && !exprs_[first.a].nullable) {
      if (first.c == kNone ? first.b == 0 : first.c <= 1) return run;  // nothing to count: an ordinary state
      run.found = true;
      run.in_run = before.empty();
      run.unit = first.a;
      run.rest = node.b;
      run.minimum = first.b;
      run.maximum = first.c;
      run.loop = repeat(first.a, 0, kNone);
      run.counter = run.loop;
      run.state = concat(run.loop, node.b);
      for (size_t i = before.size(); i-- > 0;) {
        run.counter = concat(before[i], run.counter);
        run.state = concat(before[i], run.state);
      }
      return run;
    }
    if (before.size() == 8 || exprs_[node.a].nullable) return run;  // part of one unit is short; this is something else
    before.push_back(node.a);
    at = node.b;
  }
  return run;
}

ExpressionPool::Counter ExpressionPool::counter_of(ExprId e) const {
  Counter counter;
  ExprId last = e;
  uint32_t length = 0;
  while (exprs_[last].kind == Kind::kConcat) {
    if (++length > 8) return {};
    last = exprs_[last].b;
  }
  const Expr& repeated = exprs_[last];
  if (repeated.kind != Kind::kRepeat || exprs_[repeated.a].nullable || repeated.c == kNone) return {};
  counter.unit = repeated.a;
  counter.minimum = repeated.b;
  counter.maximum = repeated.c;
  counter.in_run = last == e;
  return counter;
}

// (L & C{0,hi}) R, and (L & P C{0,hi}) R: a text of L that is limited in length. Far from the limit it is as good as unlimited.
ExpressionPool::CountedRun ExpressionPool::bounded_intersection(ExprId both, ExprId rest) {
  const std::vector<ExprId> list(parts(exprs_[both]).begin(), parts(exprs_[both]).end());
  Counter counter;
  ExprId counted = kEmpty;
  int most = 0;
  for (const ExprId part : list) {
    const Counter c = counter_of(part);
    if (c.unit == kEmpty || c.minimum != 0) continue;
    const GroupSet units = unit_characters(repeat(c.unit, 0, kNone));  // of several, what limits most characters
    if (counted != kEmpty && std::popcount(units) <= most) continue;
    counter = c;
    counted = part;
    most = std::popcount(units);
  }
  if (counted == kEmpty) return {};
  CountedRun run;
  run.in_run = counter.in_run;
  run.unit = counter.unit;
  run.rest = rest;
  run.maximum = counter.maximum;
  run.loop = repeat(counter.unit, 0, kNone);
  run.counter = run.loop;
  if (!run.in_run) {
    std::vector<ExprId> spine;
    for (ExprId at = counted; exprs_[at].kind == Kind::kConcat; at = exprs_[at].b) spine.push_back(exprs_[at].a);
    for (size_t i = spine.size(); i-- > 0;) run.counter = concat(spine[i], run.counter);
  }
  std::vector<ExprId> unbounded;
  for (const ExprId part : list) unbounded.push_back(part == counted ? run.counter : part);
  run.state = concat(intersect(std::move(unbounded)), rest);
  run.bounded = true;
  run.found = true;
  return run;
}

// Breadth-first over bytes of the alphabet, where only the first byte of a unit costs something.
uint32_t ExpressionPool::missing_units(const CountedRun& run, ExprId start, ExprId start_counter) {
  constexpr size_t kMostStates = 400;
  const auto key = [](ExprId state, ExprId counter) { return (uint64_t{state} << 32) | counter; };
  if (const auto known = missing_units_.find(key(start, start_counter)); known != missing_units_.end()) return known->second;
  // The rest begins with no byte of a unit, so the run may end where one of its first bytes is allowed.
  ByteSet ends = live_bytes(run.rest);
  ends.intersect(alphabet_);
  struct Reached {
    ExprId state;
    ExprId counter;
    uint32_t units;
  };
  std::deque<Reached> queue{{start, start_counter, 0}};
  std::unordered_set<uint64_t> done;
  uint32_t units = kNone;
  while (!queue.empty() && done.size() < kMostStates) {
    const Reached at = queue.front();
    queue.pop_front();
    if (!done.insert(key(at.state, at.counter)).second) continue;
    const ExprId* states = transitions(at.state);
    const ExprId* counters = transitions(at.counter);
    const bool between = at.counter == run.loop;
    if (between && live_bytes(at.state).intersects(ends)) {
      units = at.units;
      break;
    }
    Reached last{kEmpty, kEmpty, 0};
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const Reached next{states[byte], counters[byte], at.units + (between ? 1 : 0)};
      if (next.state == kEmpty || next.counter == kEmpty || !alphabet_.contains(static_cast<uint8_t>(byte))) continue;
      if ((next.state == last.state && next.counter == last.counter) || done.contains(key(next.state, next.counter))) continue;
      last = next;
      if (between) {
        queue.push_back(next);
      } else {
        queue.push_front(next);
      }
    }
  }
  missing_units_.emplace(key(start, start_counter), units);
  return units;
}

}  // namespace gd
