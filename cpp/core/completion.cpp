#include "completion.h"

#include <algorithm>

namespace gd {

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
  bounds_.clear();
  entries_.clear();
  key_costs_.clear();
  new_keys_.clear();
  name_tails_.clear();
  by_cost_.clear();
  claim_costs_.clear();
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

size_t Completion::memory_bytes() const {
  return (scalars_.capacity() + frames_.capacity() + configs_.capacity()) * sizeof(Cost) + (after_.size() + bounds_.size()) * 40 +
         entries_.size() * (sizeof(Entry) + 64) + ways_.size() * 40 + key_costs_.size() * 48 + name_costs_.size() * 120 +
         segments_.size() * 48;
}

}  // namespace gd
