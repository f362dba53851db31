// Which nodes of a grammar have a value at all, with the bytes of a vocabulary: asked once, before the first step.

#include <algorithm>

#include "automaton.h"
#include "errors.h"

namespace gd {

bool Automaton::compute_live(NodeId id) {
  const Node& n = grammar_.nodes[id];
  switch (n.kind) {
    case Node::kTerminal:
      return expressions_.is_nonempty(regexes_[n.regex]);
    case Node::kChoice:
      return std::any_of(n.choices.begin(), n.choices.end(), [&](NodeId c) { return containers_.is_live(c); });
    case Node::kChain:
      return std::all_of(n.choices.begin(), n.choices.end(), [&](NodeId c) { return containers_.is_live(c); });
    case Node::kMembers:
      return alphabet_.contains('{') && alphabet_.contains('}') && containers_.could_finish(id);
    case Node::kElements:
      return alphabet_.contains('[') && alphabet_.contains(']') && containers_.could_finish(id);
  }
  return false;
}

// A node is live if it has a value. Distinct items come last: an array that can't have enough of them is barred, and with it what
// needs it, which may leave other arrays without enough.
void Automaton::find_live_nodes() {
  const uint32_t num_nodes = static_cast<uint32_t>(grammar_.nodes.size());
  std::vector<bool> barred(num_nodes, false);
  for (bool changed = true; changed;) {
    settle_live_nodes(barred);
    containers_.freeze();
    changed = false;
    for (NodeId id = 0; has_unique_arrays_ && id < num_nodes; ++id) {
      if (!grammar_.nodes[id].unique || !containers_.is_live(id)) continue;
      counter_.start_search();
      if (counter_.can_finish(containers_.initial(id), {})) continue;
      barred[id] = changed = true;
    }
    if (changed) {
      containers_.forget();
      counter_.forget();
      for (NodeId id = 0; id < num_nodes; ++id) containers_.set_live(id, false);
    }
  }
}

// The least fixed point, without what is barred: a node is live once the nodes that it needs are. Each node is looked at again when
// one it mentions becomes live.
void Automaton::settle_live_nodes(const std::vector<bool>& barred) {
  const uint32_t num_nodes = static_cast<uint32_t>(grammar_.nodes.size());
  std::vector<std::vector<NodeId>> users(num_nodes);
  for (NodeId id = 0; id < num_nodes; ++id) {
    const Node& n = grammar_.nodes[id];
    for (const NodeId c : n.choices) users[c].push_back(id);
    for (const std::vector<Pick>& picks : n.values) {
      for (const Pick& pick : picks) {
        if (users[pick.node].empty() || users[pick.node].back() != id) users[pick.node].push_back(id);
      }
    }
  }
  std::vector<NodeId> work(num_nodes);
  for (NodeId id = 0; id < num_nodes; ++id) work[id] = id;  // taken from the back: children have larger ids as a rule
  std::vector<bool> waiting(num_nodes, true);
  while (!work.empty()) {
    const NodeId id = work.back();
    work.pop_back();
    waiting[id] = false;
    try {
      work_.tick();
      if (barred[id] || containers_.is_live(id) || !compute_live(id)) continue;
    } catch (LimitError& error) {
      error.node = id;
      throw;
    }
    containers_.set_live(id);
    for (const NodeId user : users[id]) {
      if (waiting[user] || containers_.is_live(user)) continue;
      waiting[user] = true;
      work.push_back(user);
    }
  }
}

}  // namespace gd
