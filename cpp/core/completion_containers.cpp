// Objects and arrays on the way to the end: a sum where nothing but required names is open, else a search over registers.

#include <algorithm>
#include <queue>

#include "completion.h"

namespace gd {

Cost Completion::opened(RegisterId reg) { return containers_.can_close(reg) ? 1 : next_from(reg, {}); }

Cost Completion::after(RegisterId reg) {
  if (containers_.can_close(reg)) return 1;
  const auto known = after_.find(reg);
  if (known != after_.end()) return known->second;
  const std::optional<Cost> plain = after_plain(reg);
  const Cost cost = plain.has_value() ? *plain : next_from(reg, grammar_.item_separator);
  return after_.emplace(reg, cost).first->second;
}

Cost Completion::next_from(RegisterId reg, std::string_view prefix) {
  const Entry& next = entry(reg);
  if (next.next == kNone) return kFar;
  std::string text(prefix);
  if (containers_.node(reg).kind == Node::kMembers) text.push_back('"');
  std::vector<Cost> costs(text.size(), kFar);
  costs.insert(costs.end(), next.costs.begin(), next.costs.end());
  std::string whole = text + next.text;
  if (next.cls >= containers_.node(reg).names.size() && !next.text.empty()) {  // a pattern's key ends with its quote
    whole.resize(whole.size() - grammar_.key_separator.size());
    costs.resize(whole.size() + 1);
  }
  texts_.complete(whole, costs);
  return costs[0];
}

// Where nothing is open but names that have to come, or a number of like items: a sum.
std::optional<Cost> Completion::after_plain(RegisterId reg) {
  const Register r = containers_[reg];
  if (r.formula != FormulaPool::kTrue) return std::nullopt;
  const Node& n = containers_.node(reg);
  Cost cost = 1;
  if (n.kind == Node::kElements) {
    for (uint32_t i = r.count; i < n.min_count; ++i) {
      const ClassId cls = std::min(i, n.prefix);
      const NodeId value = containers_.plain_value(r.node, cls);
      const uint64_t times_left = cls == n.prefix ? n.min_count - i : 1;
      cost = plus(cost, times(times_left, plus(segment(r.node, cls), value == kNone ? kFar : nodes_[value])));
      if (cls == n.prefix) break;
    }
    return cost;
  }
  uint32_t num_missing = 0;
  for (const ClassId cls : n.required) {
    if (!containers_.is_missing(reg, cls)) continue;
    ++num_missing;
    const NodeId value = containers_.plain_value(r.node, cls);
    cost = plus(cost, plus(segment(r.node, cls), value == kNone ? kFar : nodes_[value]));
  }
  if (containers_.entries_missing(reg) > num_missing) return std::nullopt;
  return cost;
}

const Completion::Entry& Completion::entry(RegisterId reg) {
  if (!entries_.contains(reg)) find_entry(reg);
  return entries_.at(reg);
}

// The entries of the same register with no used keys, and of those behind it, where they write none of the keys that are used here: what
// has been read of an object with many such keys costs one search and not one for each of them.
bool Completion::share_entries(RegisterId reg) {
  RegisterId from = containers_.without_used(reg);
  if (from == reg || entry(from).next == kNone) return false;
  std::vector<std::pair<RegisterId, RegisterId>> way;
  for (RegisterId to = reg;;) {
    const auto known = entries_.find(to);
    if (known != entries_.end()) {
      if (known->second.cost() != entry(from).cost()) return false;
      break;
    }
    const RegisterId next = entry(from).next;
    if (next == kNone || containers_.num_used_by_both(next, reg) > containers_.num_used_by_both(from, reg)) return false;
    way.emplace_back(from, to);
    from = next;
    to = containers_.with_all_used(next, reg);
    if (containers_.can_close(from) || after_plain(from).has_value()) break;
  }
  for (size_t i = way.size(); i-- > 0;) {
    Entry shared = entries_.at(way[i].first);
    shared.next = i + 1 < way.size() ? way[i + 1].second : containers_.with_all_used(shared.next, reg);
    entries_.emplace(way[i].second, std::move(shared));
  }
  return true;
}

// Finds a way from `reg` to where its container can close, and remembers the entry of each register on it, from the end.
void Completion::find_entry(RegisterId reg) {
  if (share_entries(reg)) return;
  std::vector<Step> way;
  constexpr size_t kMostSteps = 3000;
  RegisterId at = reg;
  while (way.empty() || !(containers_.can_close(at) || after_.contains(at) || entries_.contains(at))) {
    const std::optional<Step> step = plain_step(at);
    if (!step.has_value() || way.size() == kMostSteps) break;
    way.push_back(*step);
    at = step->way.next;
    if (after_plain(at).has_value()) break;
  }
  const bool is_open =
      way.empty() || !(containers_.can_close(at) || after_.contains(at) || entries_.contains(at) || after_plain(at).has_value());
  if (is_open) {
    const std::vector<Step> rest = way.size() < kMostSteps ? search(at) : std::vector<Step>{};
    if (rest.empty()) {
      for (const Step& step : way) entries_.try_emplace(step.reg);  // no end is known
      entries_.try_emplace(reg);
      return;
    }
    way.insert(way.end(), rest.begin(), rest.end());
  }
  for (; !way.empty(); way.pop_back()) {
    const Step& step = way.back();
    if (entries_.contains(step.reg)) continue;
    Entry e = make_entry(step.reg, step.cls, step.way);
    entries_.emplace(step.reg, std::move(e));
  }
  entries_.try_emplace(reg);  // none was found
}

// The next entry where no alternatives are open: a name that has to come, else the cheapest one.
std::optional<Completion::Step> Completion::plain_step(RegisterId reg) {
  const Register r = containers_[reg];
  if (r.formula != FormulaPool::kTrue) return std::nullopt;
  const Node& n = containers_.node(reg);
  const auto take = [&](ClassId cls) -> std::optional<Step> {
    const std::vector<Containers::Entry>& ways = containers_.entries(reg, cls);
    if (ways.empty()) return std::nullopt;
    return Step{reg, cls, ways.front()};
  };
  if (n.kind == Node::kElements) return take(containers_.item_class(reg));
  for (const ClassId cls : containers_.listing_order(r.node)) {
    if (!containers_.is_missing(reg, cls)) continue;
    if (std::optional<Step> step = take(cls)) return step;
  }
  std::optional<Step> best;
  Cost least = kFar;
  for (const ClassId cls : by_cost(r.node)) {
    if (!containers_.is_open(reg, cls)) continue;
    best = take(cls);
    if (!best.has_value()) continue;
    least = class_cost(r.node, cls);
    break;
  }
  for (uint32_t p = 0; p < n.patterns.size(); ++p) {
    const ClassId cls = static_cast<ClassId>(n.names.size()) + p;
    if (class_cost(r.node, cls) >= least) continue;
    std::optional<Step> step = take(cls);
    if (!step.has_value() || !take_key(*step).has_value()) continue;
    best = step;
    least = class_cost(r.node, cls);
  }
  return best;
}

// From `start` through at least one entry to where the container can close or what follows is known: the cheapest way, and where that is
// not found soon, some way.
std::vector<Completion::Step> Completion::search(RegisterId start) {
  constexpr size_t kMostReached = 2'000;
  constexpr size_t kMostGreedy = 20'000;
  constexpr size_t kShareOfEach = 50;
  search_credit_ += kShareOfEach;
  size_t num_reached = 0;
  std::vector<Step> way = search(start, false, std::min(kMostReached, search_credit_), num_reached);
  search_credit_ -= std::min(search_credit_, num_reached);
  if (!way.empty()) return way;
  return search(start, true, kMostGreedy, num_reached);
}

// Over the registers of the container, best first: by what a whole way costs (A*), or if `is_greedy` by what is left of it.
std::vector<Completion::Step> Completion::search(RegisterId start, bool is_greedy, size_t most_reached, size_t& num_reached) {
  struct Reached {
    RegisterId reg = 0;
    uint32_t from = 0;
    Step step{};
    Cost cost = 0;
  };
  std::vector<Reached> reached{{start, 0, {}, 0}};
  using Open = std::tuple<Cost, Cost, uint32_t>;  // the estimate, what is left of it, negated index in `reached`
  std::priority_queue<Open, std::vector<Open>, std::greater<>> queue;
  std::unordered_map<RegisterId, Cost> best;
  queue.emplace(0, 0, ~0U);
  while (!queue.empty() && reached.size() < most_reached) {
    automaton_.work().tick(10);
    const auto [estimate, left, negated] = queue.top();
    const uint32_t index = ~negated;
    queue.pop();
    const Reached r = reached[index];
    if (index > 0) {
      if (best[r.reg] < r.cost) continue;
      if (left == 0 || containers_.can_close(r.reg) || after_.contains(r.reg)) {
        std::vector<Step> way;
        for (uint32_t i = index; i != 0; i = reached[i].from) way.push_back(reached[i].step);
        std::reverse(way.begin(), way.end());
        num_reached = reached.size();
        return way;
      }
    }
    for (const ClassId cls : candidates(r.reg, index == 0)) {
      const std::vector<Containers::Entry> ways = containers_.entries(r.reg, cls);
      const Node& n = containers_.node(r.reg);
      for (Containers::Entry way : ways) {
        if (nodes_[way.value] >= kFar || !is_progress(r.reg, cls, way.next)) continue;
        Step step{r.reg, cls, way};
        std::optional<Cost> cost = segment(containers_[r.reg].node, cls);
        if (n.kind == Node::kMembers && cls >= n.names.size()) cost = take_key(step);
        if (!cost.has_value()) continue;
        way = step.way;
        const Cost so_far = plus(plus(r.cost, *cost), nodes_[way.value]);
        const auto [known, is_new] = best.try_emplace(way.next, so_far);
        if (!is_new && (is_greedy || known->second <= so_far)) continue;
        known->second = so_far;
        const auto after = after_.find(way.next);
        const Cost rest = after != after_.end() ? after->second : lower_bound(way.next);
        if (rest >= kFar) continue;
        queue.emplace(is_greedy ? rest : plus(so_far, rest), rest, ~static_cast<uint32_t>(reached.size()));
        reached.push_back({way.next, index, step, so_far});
      }
    }
  }
  num_reached = reached.size();
  return {};
}

// Whether an entry of the class brings its container nearer to where it can close; if that is now, any does.
bool Completion::is_progress(RegisterId reg, ClassId cls, RegisterId next) {
  const bool is_name = containers_.node(reg).kind == Node::kMembers && cls < containers_.node(reg).names.size();
  return containers_[reg].formula != containers_[next].formula || containers_.entries_missing(reg) > 0 ||
         containers_.can_close(reg) || (is_name && containers_.is_missing(reg, cls)) ||
         containers_.node(reg).kind == Node::kElements;
}

// Chooses the key of a step by a pattern: the register behind it knows it. What stands between the entry before and the value costs as much
// as is returned; nullopt if there is no key left.
std::optional<Cost> Completion::take_key(Step& step) {
  const KeyId first = automaton_.first_key(step.reg);
  if (first == kNone) return std::nullopt;
  const KeyPosition k = automaton_.key(first);
  const uint32_t pattern = step.cls - static_cast<uint32_t>(containers_.node(step.reg).names.size());
  const auto patterns = automaton_.key_patterns(k);
  const auto found = std::find_if(patterns.begin(), patterns.end(), [&](const auto& p) { return p.first == pattern; });
  if (found == patterns.end()) return std::nullopt;
  const std::optional<std::string> key = unused_key(step.reg, found->second, k);
  if (!key.has_value()) return std::nullopt;
  TextId text = TextPool::kEmptyText;
  for (const char c : *key) text = containers_.texts().append(text, static_cast<uint8_t>(c));
  step.way.next = containers_.with_used(step.way.next, text);
  if (step.way.next == kNone) return std::nullopt;
  return plus(texts_.of(grammar_.item_separator + '"' + *key + '"'), texts_.of(grammar_.key_separator));
}

Cost Completion::bound_after(RegisterId reg) {
  const auto [known, is_new] = bounds_.try_emplace(reg, 0);
  if (is_new) known->second = lower_bound(reg);
  return known->second;
}

// A lower bound of after(reg).
Cost Completion::lower_bound(RegisterId reg) {
  if (containers_.can_close(reg)) return 1;
  const Register r = containers_[reg];
  const Node& n = containers_.node(reg);
  Cost required = 0;
  for (const ClassId cls : n.required) {
    if (containers_.is_missing(reg, cls)) required = plus(required, class_cost(r.node, cls));
  }
  const Cost counted = times(containers_.entries_missing(reg), cheapest(r.node));
  const Bound open = lower_bound(reg, r.formula);
  return plus(1, std::max({plus(required, open.names), counted, open.entries}));
}

Completion::Bound Completion::lower_bound(RegisterId reg, FormulaId formula) {
  const NodeId node = containers_[reg].node;
  const FormulaPool::Item& item = containers_.formulas()[formula];
  switch (item.kind) {
    case FormulaNode::kFalse:
      return {kFar, kFar};
    case FormulaNode::kTrue:
      return {};
    case FormulaNode::kAnd: {
      Bound most;
      Cost names = 0;  // of the parts that are a name each
      for (const FormulaId part : item.parts) {
        const Bound bound = lower_bound(reg, part);
        most = {std::max(most.names, bound.names), std::max(most.entries, bound.entries)};
        if (containers_.formulas()[part].kind == FormulaNode::kClaim) names = plus(names, bound.names);
      }
      return {std::max(most.names, names), most.entries};
    }
    case FormulaNode::kOr: {
      Bound least{kFar, kFar};
      for (const FormulaId part : item.parts) {
        const Bound bound = lower_bound(reg, part);
        least = {std::min(least.names, bound.names), std::min(least.entries, bound.entries)};
      }
      return least;
    }
    case FormulaNode::kClaim:
      break;
  }
  const Claim& c = grammar_.nodes[node].claims[item.claim];
  switch (c.kind) {
    case Claim::kSome:
      return {0, times(item.count, claim_cost(node, item.claim))};
    case Claim::kCountMin:
      return {0, times(item.count, cheapest(node))};
    case Claim::kHas:
      return {containers_.is_missing(reg, c.classes[0]) ? 0 : class_cost(node, c.classes[0]), 0};
    default:
      return {};
  }
}

// Classes of which an entry may bring the container nearer to its end.
std::vector<ClassId> Completion::candidates(RegisterId reg, bool must_take) {
  const Register r = containers_[reg];
  const Node& n = containers_.node(reg);
  if (n.kind == Node::kElements) return {containers_.item_class(reg)};
  std::vector<ClassId> result;
  for (const ClassId cls : containers_.listing_order(r.node)) {
    if (!containers_.is_missing(reg, cls) || containers_.entries(reg, cls).empty()) continue;
    result.push_back(cls);
    break;
  }
  bool any = (must_take && result.empty()) || containers_.entries_missing(reg) > 0;
  collect_classes(n, r.formula, result, any);
  if (any) {
    for (const ClassId cls : by_cost(r.node)) {
      if (!containers_.is_open(reg, cls) || containers_.entries(reg, cls).empty()) continue;
      result.push_back(cls);
      break;
    }
    for (uint32_t p = 0; p < n.patterns.size(); ++p) result.push_back(static_cast<ClassId>(n.names.size()) + p);
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

void Completion::collect_classes(const Node& n, FormulaId formula, std::vector<ClassId>& out, bool& any) {
  const FormulaPool::Item& item = containers_.formulas()[formula];
  for (const FormulaId part : item.parts) collect_classes(n, part, out, any);
  if (item.kind != FormulaNode::kClaim) return;
  const Claim& c = n.claims[item.claim];
  if (c.kind == Claim::kSome || c.kind == Claim::kHas) out.insert(out.end(), c.classes.begin(), c.classes.end());
  any = any || c.kind == Claim::kCountMin;
}

}  // namespace gd
