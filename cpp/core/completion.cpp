#include "completion.h"

#include <algorithm>
#include <queue>
#include <unordered_set>

#include "errors.h"

namespace gd {
namespace {

uint64_t pair(uint32_t a, uint32_t b) { return (uint64_t{a} << 32) | b; }

Cost times(uint64_t count, Cost cost) {
  if (count > 0 && cost >= kFar) return kFar;
  return static_cast<Cost>(std::min<uint64_t>(count * cost, kFar));
}

Cost& at(std::vector<Cost>& table, uint32_t index, Cost unknown) {
  if (table.size() <= index) table.resize(std::max<size_t>(index + 1, table.size() * 2), unknown);
  return table[index];
}

}  // namespace

Completion::Completion(Automaton& automaton, const Trie* tokens)
    : automaton_(automaton),
      containers_(automaton.containers()),
      expressions_(automaton.expressions()),
      grammar_(automaton.grammar()),
      texts_(tokens),
      shortest_(expressions_, automaton.alphabet()) {
  settle();
}

// ---- values ---------------------------------------------------------------------------------------------------------

// Rounds until nothing changes; children have larger ids as a rule. The last round has looked at everything with the final values, and
// what it has remembered stays.
void Completion::settle() {
  nodes_.assign(grammar_.nodes.size(), kFar);
  for (bool changed = true; changed;) {
    changed = false;
    forget();
    for (NodeId id = static_cast<NodeId>(nodes_.size()); id-- > 0;) {
      if (!containers_.is_live(id)) continue;
      const Cost cost = compute_node(id);
      if (cost >= nodes_[id]) continue;
      nodes_[id] = cost;
      changed = true;
      forget();
    }
  }
}

// What rests on the values of nodes.
void Completion::forget() {
  after_.clear();
  entries_.clear();
  key_costs_.clear();
  name_tails_.clear();
  by_cost_.clear();
  frames_.clear();
  configs_.clear();
  ways_.clear();
}

Cost Completion::compute_node(NodeId id) {
  const Node& n = grammar_.nodes[id];
  automaton_.work().tick(10);
  if (!grammar_.nullable.empty() && grammar_.nullable[id]) return 0;
  switch (n.kind) {
    case Node::kTerminal:
      return of_scalar(automaton_.starts(id).terminals.front());
    case Node::kChoice: {
      Cost least = kFar;
      for (const NodeId c : n.choices) least = std::min(least, nodes_[c]);
      return least;
    }
    case Node::kChain:
      return parts(n, 0);
    case Node::kMembers:
    case Node::kElements:
      if (n.unique) return plus(1, of_config(automaton_.opened_array(id)));
      return plus(1, opened(containers_.initial(id)));
  }
  return kFar;
}

// The parts of a chain from one on.
Cost Completion::parts(const Node& chain, uint32_t from) {
  Cost cost = 0;
  for (uint32_t i = from; i < chain.choices.size(); ++i) cost = plus(cost, nodes_[chain.choices[i]]);
  return cost;
}

Cost Completion::of_scalar(ExprId e) {
  if (expressions_.nullable(e)) return 0;
  if (const Cost known = at(scalars_, e, kUnknown); known != kUnknown) return known;
  const ShortestTexts::Path path = shortest_.find(e);
  std::vector<Cost> costs(path.states.size(), kFar);
  costs.back() = 0;
  for (size_t i = 1; i + 1 < costs.size(); ++i) {
    if (const Cost known = at(scalars_, path.states[i], kUnknown); known != kUnknown) costs[i] = known;
  }
  texts_.complete(path.text, costs);
  Cost peak = 0;
  for (size_t i = costs.size() - 1; i-- > 0;) {
    at(scalars_, path.states[i], kUnknown) = costs[i];
    peak = std::max(peak, costs[i]);
    at(peaks_, path.states[i], 0) = std::max(at(peaks_, path.states[i], 0), peak);
  }
  return costs[0];
}

Cost Completion::farthest_scalar(ExprId e) {
  const auto known = farthest_.find(e);
  if (known != farthest_.end()) return known->second;
  Cost cost = std::min<Cost>(expressions_.farthest(e), kFar);
  const ExpressionPool::CountedRun run = expressions_.counted_run(e);
  if (run.found && !run.bounded && run.minimum > 0) {
    // What is left of a run costs no more than where it is now, the unit that is being written and what a token may leave half done.
    const Cost most = std::max(of_scalar(e), at(peaks_, e, 0));
    cost = std::min(cost, plus(plus(most, expressions_.farthest(run.unit)), expressions_.farthest(run.rest)));
  }
  farthest_.emplace(e, cost);
  return cost;
}

// The innermost scalar or key costs what it may come to; each container that the token opens or goes on in costs what it may come to from
// any of its states.
Cost Completion::margin(uint32_t num_begun) {
  if (most_of_scalars_ == kUnknown) {
    most_of_scalars_ = 0;
    for (NodeId id = 0; id < nodes_.size(); ++id) {
      if (!containers_.is_live(id)) continue;
      const Node& n = grammar_.nodes[id];
      if (n.kind == Node::kTerminal) {
        most_of_scalars_ = std::max(most_of_scalars_, farthest_scalar(automaton_.starts(id).terminals.front()));
      } else if (n.kind == Node::kMembers || n.kind == Node::kElements) {
        most_of_containers_ = std::max(most_of_containers_, most_of_container(id));
      }
    }
  }
  // Where items must be distinct, each array may need another value than its cheapest.
  const Cost others = automaton_.has_unique_arrays() ? most_of_scalars_ : 0;
  return plus(plus(most_of_scalars_, 1), times(num_begun + 1, plus(most_of_containers_, others)));
}

// From every state so many entries are enough: what has to be there, and what each claim of a formula asks for.
Cost Completion::most_of_container(NodeId id) {
  const Node& n = grammar_.nodes[id];
  uint64_t num_entries = uint64_t{n.min_count} + n.required.size() + (n.kind == Node::kElements ? n.prefix : 0);
  for (const Claim& c : n.claims) {
    if (c.kind == Claim::kSome || c.kind == Claim::kCountMin) num_entries += c.count;
    if (c.kind == Claim::kHas) ++num_entries;
  }
  if (n.unique && (n.min_count > 1 || !n.claims.empty())) return kFar;
  if (num_entries == 0 && n.kind == Node::kElements) num_entries = 1;
  Cost key = 0;
  Cost value = 0;
  for (ClassId cls = 0; cls < n.num_classes(); ++cls) {
    for (const Pick& pick : n.values[cls]) {
      if (containers_.is_live(pick.node)) value = std::max(value, nodes_[pick.node]);
    }
    if (n.kind == Node::kElements) continue;
    if (cls < n.names.size()) {
      key = std::max(key, static_cast<Cost>(n.names[cls].size()));
    } else if (!n.values[cls].empty()) {
      key = std::max(key, farthest_scalar(automaton_.expression(n.patterns[cls - n.names.size()])));
    }
  }
  const Cost separators = static_cast<Cost>(grammar_.item_separator.size() + grammar_.key_separator.size());
  return plus(2, times(num_entries + 1, plus(plus(key, value), separators + 2)));
}

// ---- threads --------------------------------------------------------------------------------------------------------

Cost Completion::of_config(ConfigId c) {
  if (c == Automaton::kDead) return kFar;
  if (const Cost known = at(configs_, c, kUnknown); known != kUnknown) return known;
  Cost least = kFar;
  const std::span<const FrameId> threads = automaton_.threads(c);
  for (const FrameId f : std::vector<FrameId>(threads.begin(), threads.end())) least = std::min(least, of_frame(f));
  if (const auto noted = noted_configs_.find(c); noted != noted_configs_.end()) least = std::min(least, noted->second);
  return at(configs_, c, kUnknown) = least;
}

void Completion::note(const std::vector<std::pair<ConfigId, Cost>>& way) {
  for (const auto& [c, cost] : way) {
    if (cost >= of_config(c)) continue;
    noted_configs_[c] = cost;
    const std::span<const FrameId> threads = automaton_.threads(c);
    if (threads.size() != 1) continue;
    // For other configurations that have the thread, and for what is read inside the value before it.
    const FrameId f = threads.front();
    noted_frames_[f] = cost;
    Frame frame = automaton_.frame(f);
    if (frame.sub != 0) continue;
    if (frame.kind == FrameKind::kMemberAfter) frame.kind = FrameKind::kMemberValue;
    if (frame.kind == FrameKind::kItemAfter) frame.kind = FrameKind::kItemValue;
    if (frame.kind == FrameKind::kMemberValue || frame.kind == FrameKind::kItemValue)
      noted_frames_[automaton_.intern(frame)] = cost;
  }
  frames_.clear();
  configs_.clear();
}

// From the outermost frame that is not known inwards: a chain of parents can be as long as the document.
Cost Completion::of_frame(FrameId f) {
  std::vector<FrameId> chain;
  while (f != 0 && at(frames_, f, kUnknown) == kUnknown) {
    if (automaton_.frame(f).kind == FrameKind::kWatched) {
      const Cost cost = of_watched(f);
      return at(frames_, f, kUnknown) = cost;
    }
    chain.push_back(f);
    f = automaton_.frame(f).parent;
  }
  Cost cost = f == 0 ? 0 : at(frames_, f, kUnknown);
  for (; !chain.empty(); chain.pop_back()) {
    cost = plus(local(Frame(automaton_.frame(chain.back()))), cost);
    if (const auto noted = noted_frames_.find(chain.back()); noted != noted_frames_.end()) cost = std::min(cost, noted->second);
    at(frames_, chain.back(), kUnknown) = cost;
  }
  return cost;
}

// ---- arrays of distinct items ---------------------------------------------------------------------------------------

// Whether the way to the end need not know of distinct items.
bool Completion::is_plain(FrameId f) {
  const Frame frame = automaton_.frame(f);
  return frame.kind != FrameKind::kWatched || automaton_.uniqueness().ends_plainly(frame);
}

bool Completion::is_beyond(ConfigId c, Cost limit) {
  if (!automaton_.has_unique_arrays() || c == Automaton::kDead || at(configs_, c, kUnknown) != kUnknown) return false;
  const std::span<const FrameId> threads = automaton_.threads(c);
  const std::vector<FrameId> frames(threads.begin(), threads.end());
  return std::all_of(frames.begin(), frames.end(), [&](FrameId f) {
    const Frame frame = automaton_.frame(f);
    return of_frame(frame.kind == FrameKind::kWatched ? frame.extra : f) > limit;
  });
}

Cost Completion::of_watched(FrameId f) {
  if (is_plain(f)) return of_frame(automaton_.frame(f).extra);
  search_watched(f);
  return at(frames_, f, kUnknown);
}

// From a thread for which distinctness matters to the nearest one for which it does not, or of which the distance is known: best first, by
// the bytes so far and what the distance would be without distinctness. Every thread on the way found is remembered.
void Completion::search_watched(FrameId start) {
  constexpr size_t kMostReached = 2000;
  struct Reached {
    FrameId frame = 0;
    uint32_t from = 0;
    uint32_t depth = 0;
    uint8_t byte = 0;
  };
  if (of_frame(automaton_.frame(start).extra) >= kFar) {  // not even without distinctness, as far as is known
    at(frames_, start, kUnknown) = kFar;
    return;
  }
  std::vector<Reached> reached{{start, 0, 0, 0}};
  using Open = std::tuple<Cost, uint32_t, uint32_t>;  // an estimate, negated depth, index in `reached`
  std::priority_queue<Open, std::vector<Open>, std::greater<>> queue;
  std::unordered_set<FrameId> seen{start};
  queue.emplace(0, 0, 0);
  uint32_t goal = 0;
  while (!queue.empty() && reached.size() < kMostReached) {
    automaton_.work().tick(20);
    const uint32_t index = std::get<2>(queue.top());
    queue.pop();
    const Reached r = reached[index];
    if (index > 0 && (is_plain(r.frame) || at(frames_, r.frame, kUnknown) != kUnknown)) {
      if (of_frame(r.frame) >= kFar) continue;
      goal = index;
      break;
    }
    const ConfigId config = automaton_.config_of(r.frame);
    for (const uint8_t byte : tried_bytes(r.frame)) {
      const ConfigId next = automaton_.step(config, byte);
      if (next == Automaton::kDead) continue;
      const std::span<const FrameId> threads = automaton_.threads(next);
      for (const FrameId f : std::vector<FrameId>(threads.begin(), threads.end())) {
        if (!seen.insert(f).second) continue;
        const Frame frame = automaton_.frame(f);
        const Cost estimate = of_frame(frame.kind == FrameKind::kWatched ? frame.extra : f);
        if (estimate >= kFar) continue;
        queue.emplace(plus(r.depth + 1, estimate), ~(r.depth + 1), static_cast<uint32_t>(reached.size()));
        reached.push_back({f, index, r.depth + 1, byte});
      }
    }
  }
  if (goal == 0) {
    at(frames_, start, kUnknown) = kFar;
    return;
  }
  std::vector<FrameId> frames;
  std::string text;
  for (uint32_t i = goal;; i = reached[i].from) {
    frames.push_back(reached[i].frame);
    if (i == 0) break;
    text.push_back(static_cast<char>(reached[i].byte));
  }
  std::reverse(frames.begin(), frames.end());
  std::reverse(text.begin(), text.end());
  std::vector<Cost> costs(frames.size(), kFar);
  costs.back() = of_frame(frames.back());
  texts_.complete(text, costs);
  for (size_t i = 0; i < text.size(); ++i) {
    at(frames_, frames[i], kUnknown) = costs[i];
    ways_[frames[i]] = {frames[i + 1], static_cast<uint8_t>(text[i])};
  }
}

// What the way without distinctness writes next, and some other bytes.
std::vector<uint8_t> Completion::tried_bytes(FrameId f) {
  constexpr size_t kMost = 24;
  std::vector<uint8_t> result;
  const Frame frame = automaton_.frame(f);
  const Frame inner = frame.kind == FrameKind::kWatched ? automaton_.frame(frame.extra) : frame;
  const bool is_nullable = inner.kind == FrameKind::kTerminal && expressions_.nullable(inner.state);
  if (!is_nullable) {
    if (const std::string text = local_text(inner, 1 << 20); !text.empty()) result.push_back(static_cast<uint8_t>(text[0]));
  }
  const ByteSet bytes = automaton_.first_bytes(automaton_.config_of(f));
  for (const uint8_t byte : shortest_.order()) {
    if (result.size() == kMost) break;
    if (bytes.contains(byte) && std::find(result.begin(), result.end(), byte) == result.end()) result.push_back(byte);
  }
  for (const char c : std::string_view("\"]},{[:")) {
    const uint8_t byte = static_cast<uint8_t>(c);
    if (bytes.contains(byte) && std::find(result.begin(), result.end(), byte) == result.end()) result.push_back(byte);
  }
  return result;
}

Cost Completion::local(const Frame& f) {
  const std::string_view item_tail = std::string_view(grammar_.item_separator).substr(1);
  const std::string_view key_tail = std::string_view(grammar_.key_separator).substr(1);
  const auto tail = [&](std::string_view text) { return text.substr(std::min<size_t>(f.sub, text.size())); };
  switch (f.kind) {
    case FrameKind::kTerminal:
      return of_scalar(f.state);
    case FrameKind::kRootBefore:
      return nodes_[grammar_.root];
    case FrameKind::kObjectOpen:
    case FrameKind::kArrayOpen:
      return opened(f.state);
    case FrameKind::kPart:
      return parts(grammar_.nodes[f.state], f.extra);
    case FrameKind::kKey:
      return key_cost(f.state, f.extra);
    case FrameKind::kColon:
      return texts_.before(grammar_.key_separator, plus(nodes_[f.extra], after(f.state)));
    case FrameKind::kMemberBefore:
      return texts_.before(tail(key_tail), plus(nodes_[f.extra], after(f.state)));
    case FrameKind::kMemberNext:
    case FrameKind::kItemNext:
      return next_from(f.state, tail(item_tail));
    case FrameKind::kMemberValue:
    case FrameKind::kMemberAfter:
    case FrameKind::kItemValue:
    case FrameKind::kItemAfter:
      return after(f.state);
    case FrameKind::kRootValue:
    case FrameKind::kRootAfter:
    case FrameKind::kWatched:
      return 0;
  }
  return kFar;
}

// ---- containers -----------------------------------------------------------------------------------------------------

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

// Finds a way from `reg` to where its container can close, and remembers the entry of each register on it, from the end.
void Completion::find_entry(RegisterId reg) {
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

// A* over the registers of one container, from `start` through at least one entry to where it can close or what follows is known.
std::vector<Completion::Step> Completion::search(RegisterId start) {
  constexpr size_t kMostReached = 20000;
  struct Reached {
    RegisterId reg = 0;
    uint32_t from = 0;
    Step step{};
    Cost cost = 0;
  };
  std::vector<Reached> reached{{start, 0, {}, 0}};
  using Open = std::tuple<Cost, Cost, uint32_t>;  // whole cost, what is left of it, index in `reached`
  std::priority_queue<Open, std::vector<Open>, std::greater<>> queue;
  std::unordered_map<RegisterId, Cost> best;
  queue.emplace(0, 0, 0);
  while (!queue.empty() && reached.size() < kMostReached) {
    automaton_.work().tick(10);
    const auto [whole, left, index] = queue.top();
    queue.pop();
    const Reached r = reached[index];
    if (index > 0) {
      if (best[r.reg] < r.cost) continue;
      if (left == 0 || containers_.can_close(r.reg) || after_.contains(r.reg)) {
        std::vector<Step> way;
        for (uint32_t i = index; i != 0; i = reached[i].from) way.push_back(reached[i].step);
        std::reverse(way.begin(), way.end());
        return way;
      }
    }
    for (const ClassId cls : candidates(r.reg, index == 0)) {
      const std::vector<Containers::Entry> ways = containers_.entries(r.reg, cls);
      const Node& n = containers_.node(r.reg);
      for (Containers::Entry way : ways) {
        if (nodes_[way.value] >= kFar) continue;
        Step step{r.reg, cls, way};
        std::optional<Cost> cost = segment(containers_[r.reg].node, cls);
        if (n.kind == Node::kMembers && cls >= n.names.size()) cost = take_key(step);
        if (!cost.has_value()) continue;
        way = step.way;
        const Cost so_far = plus(plus(r.cost, *cost), nodes_[way.value]);
        const auto [known, is_new] = best.try_emplace(way.next, so_far);
        if (!is_new && known->second <= so_far) continue;
        known->second = so_far;
        const auto after = after_.find(way.next);
        const Cost rest = after != after_.end() ? after->second : lower_bound(way.next);
        if (rest >= kFar) continue;
        queue.emplace(plus(so_far, rest), rest, static_cast<uint32_t>(reached.size()));
        reached.push_back({way.next, index, step, so_far});
      }
    }
  }
  return {};
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
  return plus(1, std::max({required, counted, lower_bound(n, r.formula)}));
}

Cost Completion::lower_bound(const Node& n, FormulaId formula) {
  const NodeId node = static_cast<NodeId>(&n - grammar_.nodes.data());
  const FormulaPool::Item& item = containers_.formulas()[formula];
  switch (item.kind) {
    case FormulaNode::kFalse:
      return kFar;
    case FormulaNode::kTrue:
      return 0;
    case FormulaNode::kAnd: {
      Cost most = 0;
      for (const FormulaId part : item.parts) most = std::max(most, lower_bound(n, part));
      return most;
    }
    case FormulaNode::kOr: {
      Cost least = kFar;
      for (const FormulaId part : item.parts) least = std::min(least, lower_bound(n, part));
      return least;
    }
    case FormulaNode::kClaim:
      break;
  }
  const Claim& c = n.claims[item.claim];
  switch (c.kind) {
    case Claim::kSome:
    case Claim::kCountMin:
      return times(item.count, cheapest(node));
    case Claim::kHas:
      return class_cost(node, c.classes[0]);
    default:
      return 0;
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

// ---- entries --------------------------------------------------------------------------------------------------------

Completion::Entry Completion::make_entry(RegisterId reg, ClassId cls, const Containers::Entry& way) {
  Entry e;
  e.cls = cls;
  e.value = way.value;
  const Node& n = containers_.node(reg);
  if (n.kind == Node::kMembers && cls >= n.names.size()) {
    const KeyId first = automaton_.first_key(reg);
    if (first == kNone) return e;
    // The same way without the key that a search has noted.
    Register behind = containers_[way.next];
    for (const Containers::Entry& fresh : std::vector(containers_.entries(reg, cls))) {
      behind.used = containers_[fresh.next].used;
      if (fresh.value != way.value || containers_[fresh.next] != behind) continue;
      Entry found = pattern_entry(reg, cls - static_cast<uint32_t>(n.names.size()), fresh, first);
      if (found.next != kNone && (e.next == kNone || found.cost() < e.cost())) e = std::move(found);
    }
    return e;
  }
  const Cost rest = plus(nodes_[way.value], after(way.next));
  if (rest >= kFar) return e;
  e.next = way.next;
  if (n.kind == Node::kMembers) {
    e.text = n.names[cls] + '"' + grammar_.key_separator;
    for (const Cost cost : name_costs(containers_[reg].node, cls)) e.costs.push_back(plus(cost, rest));
  } else {
    e.costs = {rest};
  }
  return e;
}

const std::vector<Cost>& Completion::name_costs(NodeId node, ClassId cls) {
  std::vector<std::vector<Cost>>& of_names = name_costs_[node];
  if (of_names.empty()) of_names.resize(grammar_.nodes[node].names.size());
  std::vector<Cost>& costs = of_names[cls];
  if (!costs.empty()) return costs;
  const std::string text = grammar_.nodes[node].names[cls] + '"' + grammar_.key_separator;
  costs.assign(text.size() + 1, kFar);
  costs.back() = 0;
  texts_.complete(text, costs);
  return costs;
}

// A shortest rest of a key, which with what is there makes no name and no used key. While masks are computed some used keys are not
// known (TextPool::kFresh); of more candidates than there can be such keys the dearest is taken, and one of them is free.
std::optional<std::string> Completion::unused_key(RegisterId reg, ExprId state, const KeyPosition& k) {
  const bool is_fresh = k.text == TextPool::kFresh || !automaton_.is_exact_key(reg, k);
  const std::vector<TextId>& used = containers_.used_texts(reg);
  const bool has_unknown = std::binary_search(used.begin(), used.end(), TextPool::kFresh);
  if (is_fresh && !has_unknown) return shortest_.find(state).text;
  const std::vector<std::string_view>& names = containers_.sorted_names(containers_[reg].node);
  const std::string before = is_fresh ? "" : containers_.texts().suffix(k.text, 0);
  const auto is_free = [&](const std::string& rest) {
    if (is_fresh) return true;
    const std::string key = before + rest;
    if (std::binary_search(names.begin(), names.end(), std::string_view(key))) return false;
    TextId text = k.text;
    for (const char c : rest) text = containers_.texts().append(text, static_cast<uint8_t>(c));
    return !std::binary_search(used.begin(), used.end(), text);
  };
  if (!has_unknown) {
    if (std::string first = shortest_.find(state).text; is_free(first)) return first;
  }
  constexpr size_t kMostUnknown = 2;  // in one token
  size_t wanted = has_unknown ? kMostUnknown + 1 : 1;
  std::optional<std::string> result;
  Cost most = 0;
  shortest_.list(state, [&](const std::string& rest) {
    if (!is_free(rest)) return false;
    const Cost cost = texts_.of(rest + '"');
    if (!result.has_value() || cost > most) {
      result = rest;
      most = cost;
    }
    return --wanted == 0;
  });
  return wanted == 0 ? result : std::nullopt;
}

Completion::Entry Completion::pattern_entry(RegisterId reg, uint32_t pattern, const Containers::Entry& way, KeyId key) {
  Entry e;
  e.cls = static_cast<ClassId>(containers_.node(reg).names.size()) + pattern;
  e.value = way.value;
  const KeyPosition k = automaton_.key(key);
  const auto patterns = automaton_.key_patterns(k);
  const auto found = std::find_if(patterns.begin(), patterns.end(), [&](const auto& p) { return p.first == pattern; });
  if (found == patterns.end()) return e;
  if (expressions_.nullable(found->second) && containers_.can_close(way.next) && !automaton_.is_exact_key(reg, k)) {
    // The everyday case: the key may end here, whatever it is, and nothing has to follow.
    e.next = way.next;
    e.text = '"' + grammar_.key_separator;
    e.costs.assign(e.text.size() + 1, kFar);
    e.costs.back() = plus(nodes_[way.value], 1);
    texts_.complete(e.text.substr(1), e.costs.data() + 1);
    e.costs[0] = plus(e.costs[1], 1);
    if (e.costs[0] >= kFar) e.next = kNone;
    return e;
  }
  const std::optional<std::string> rest = unused_key(reg, found->second, k);
  if (!rest.has_value()) return e;
  TextId text = k.text;
  for (const char c : *rest) text = containers_.texts().append(text, static_cast<uint8_t>(c));
  const RegisterId next = containers_.with_used(way.next, text);
  if (next == kNone) return e;
  const Cost tail = plus(nodes_[way.value], after(next));
  if (tail >= kFar) return e;
  // What the text and the quote cost is told apart from the rest, as the table of the pattern does.
  std::vector<Cost> separator(grammar_.key_separator.size() + 1, kFar);
  separator.back() = tail;
  texts_.complete(grammar_.key_separator, separator);
  e.text = *rest + '"';
  e.costs.assign(e.text.size(), kFar);
  e.costs.push_back(separator.front());
  texts_.complete(e.text, e.costs);
  e.text += grammar_.key_separator;
  e.costs.insert(e.costs.end(), separator.begin() + 1, separator.end());
  if (e.costs[0] < kFar) e.next = next;
  return e;
}

// Behind a name that may come, from the value to the end of the object.
Cost Completion::name_tail(RegisterId reg, ClassId cls) {
  const Register r = containers_[reg];
  if (r.formula == FormulaPool::kTrue && containers_.entries_missing(reg) == 0) {
    // The same as the register behind it would say, without making one for each name.
    const NodeId value = containers_.plain_value(r.node, cls);
    if (value == kNone || nodes_[value] >= kFar) return kFar;
    const Cost rest = after(reg);
    if (rest >= kFar) return kFar;
    return containers_.is_missing(reg, cls) ? rest - segment(r.node, cls) : rest + nodes_[value];
  }
  Cost least = kFar;
  for (const Containers::Entry& way : std::vector(containers_.entries(reg, cls))) {
    least = std::min(least, plus(nodes_[way.value], after(way.next)));
  }
  return least;
}

Cost Completion::of_name(RegisterId reg, uint32_t sorted_name, uint32_t depth) {
  const NodeId node = containers_[reg].node;
  const ClassId cls = containers_.sorted_name_class(node, sorted_name);
  std::vector<Cost>& tails = name_tails_[reg];
  if (tails.empty()) tails.assign(containers_.sorted_names(node).size(), kUnknown);
  Cost& tail = tails[sorted_name];
  if (tail == kUnknown) {
    const bool may_come = containers_.any_name_may_come(reg, sorted_name, sorted_name + 1);
    const Cost cost = may_come ? name_tail(reg, cls) : kFar;
    name_tails_[reg][sorted_name] = cost;
    return plus(name_costs(node, cls)[depth], cost);
  }
  return plus(name_costs(node, cls)[depth], tail);
}

Cost Completion::key_cost(RegisterId reg, KeyId key) {
  const auto known = key_costs_.find(pair(reg, key));
  if (known != key_costs_.end()) return known->second;
  const Cost cost = key_entry(reg, key).cost();
  key_costs_.emplace(pair(reg, key), cost);
  return cost;
}

// How a key goes on: as the name or pattern that costs least.
Completion::Entry Completion::key_entry(RegisterId reg, KeyId key) {
  const KeyPosition k = automaton_.key(key);
  const NodeId node = containers_[reg].node;
  uint32_t best = kNone;
  Cost least = kFar;
  for (uint32_t s = k.low; s < k.high; ++s) {
    const Cost cost = of_name(reg, s, k.depth);
    if (cost >= least) continue;
    least = cost;
    best = s;
  }
  Entry result;
  if (best != kNone) {
    const ClassId cls = containers_.sorted_name_class(node, best);
    Cost tail = kFar;
    for (const Containers::Entry& way : std::vector(containers_.entries(reg, cls))) {
      const Cost cost = plus(nodes_[way.value], after(way.next));
      if (cost >= tail) continue;
      tail = cost;
      result = make_entry(reg, cls, way);
    }
    result.text.erase(0, k.depth);
    result.costs.erase(result.costs.begin(), result.costs.begin() + k.depth);
  }
  const uint32_t num_names = static_cast<uint32_t>(containers_.node(reg).names.size());
  const auto list = automaton_.key_patterns(k);
  for (const auto& [pattern, state] : std::vector(list.begin(), list.end())) {
    for (const Containers::Entry& way : std::vector(containers_.entries(reg, num_names + pattern))) {
      Entry e = pattern_entry(reg, pattern, way, key);
      if (e.cost() < result.cost()) result = std::move(e);
    }
  }
  return result;
}

// ---- what classes cost ----------------------------------------------------------------------------------------------

// Between the entry before and the value. Of a pattern: what it costs at least.
Cost Completion::segment(NodeId node, ClassId cls) {
  const Node& n = grammar_.nodes[node];
  if (n.kind == Node::kElements) cls = 0;  // all alike
  if (n.kind == Node::kMembers && cls >= n.names.size()) return 1;
  const auto [found, is_new] = segments_.try_emplace(pair(node, cls), 0);
  if (is_new) {
    const std::string text = n.kind == Node::kElements
                                 ? grammar_.item_separator
                                 : grammar_.item_separator + '"' + n.names[cls] + '"' + grammar_.key_separator;
    found->second = texts_.of(text);
  }
  return found->second;
}

// A lower bound of an entry with its separator.
Cost Completion::class_cost(NodeId node, ClassId cls) {
  Cost least = kFar;
  for (const Pick& pick : grammar_.nodes[node].values[cls]) least = std::min(least, nodes_[pick.node]);
  return plus(least, segment(node, cls));
}

// The names, cheapest first.
const std::vector<ClassId>& Completion::by_cost(NodeId node) {
  const auto [found, is_new] = by_cost_.try_emplace(node);
  if (is_new) {
    std::vector<std::pair<Cost, ClassId>> order;
    for (ClassId cls = 0; cls < grammar_.nodes[node].names.size(); ++cls) order.emplace_back(class_cost(node, cls), cls);
    std::sort(order.begin(), order.end());
    for (const auto& [cost, cls] : order) found->second.push_back(cls);
  }
  return found->second;
}

Cost Completion::cheapest(NodeId node) {
  const Node& n = grammar_.nodes[node];
  Cost least = kFar;
  ClassId first = 0;
  if (n.kind == Node::kMembers) {
    if (const std::vector<ClassId>& order = by_cost(node); !order.empty()) least = class_cost(node, order.front());
    first = static_cast<ClassId>(n.names.size());
  }
  for (ClassId cls = first; cls < n.num_classes(); ++cls) least = std::min(least, class_cost(node, cls));
  return least;
}

size_t Completion::memory_bytes() const {
  return (scalars_.capacity() + frames_.capacity() + configs_.capacity()) * sizeof(Cost) + after_.size() * 40 +
         entries_.size() * (sizeof(Entry) + 64) + ways_.size() * 40 + key_costs_.size() * 48 + name_costs_.size() * 120 +
         segments_.size() * 48;
}

}  // namespace gd
