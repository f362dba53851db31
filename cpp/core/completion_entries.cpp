// What entries of containers cost: keys, names, patterns, and the classes that they belong to.

#include <algorithm>

#include "completion.h"

namespace gd {

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
  const RegisterId next = containers_.with_used_key(way.next, text);
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
  const KeyPosition k = automaton_.key(key);
  const std::optional<Cost> alike = automaton_.is_new_key(reg, k) ? new_key_cost(reg, k) : std::nullopt;
  const Cost cost = alike.has_value() ? *alike : key_entry(reg, key).cost();
  key_costs_.emplace(pair(reg, key), cost);
  return cost;
}

// Of the many keys that leave the names and the used keys, and are none of those on the way to the end: all of them cost the same.
std::optional<Cost> Completion::new_key_cost(RegisterId reg, const KeyPosition& k) {
  const uint64_t id = pair(reg, k.patterns);
  if (!new_keys_.contains(id)) {
    NewKey found;
    const uint32_t num_names = static_cast<uint32_t>(containers_.node(reg).names.size());
    const auto list = automaton_.key_patterns(k);
    for (const auto& [pattern, state] : std::vector(list.begin(), list.end())) {
      const std::string rest = shortest_.find(state).text + '"';
      for (const Containers::Entry& way : std::vector(containers_.entries(reg, num_names + pattern))) {
        if (plus(nodes_[way.value], bound_after(way.next)) >= found.cost) continue;
        const Cost tail = plus(nodes_[way.value], after(way.next));
        const Cost cost = texts_.before(rest, texts_.before(grammar_.key_separator, tail));
        if (cost < found.cost) found = {cost, keys_behind(way.next)};
      }
    }
    new_keys_.emplace(id, std::move(found));
  }
  const NewKey& known = new_keys_.at(id);
  const auto begins_with = [&](TextId key) { return containers_.texts().is_prefix(k.text, key); };
  if (std::any_of(known.behind.begin(), known.behind.end(), begins_with)) return std::nullopt;
  return known.cost;
}

// The keys of patterns on the way to the end of the object.
std::vector<TextId> Completion::keys_behind(RegisterId reg) {
  std::vector<TextId> keys;
  while (!containers_.can_close(reg) && entries_.contains(reg) && entries_.at(reg).next != kNone) {
    reg = entries_.at(reg).next;
    keys = containers_.used_texts(reg);
  }
  return keys;
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
      if (plus(nodes_[way.value], bound_after(way.next)) >= result.cost()) continue;
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
  if (n.kind == Node::kElements) cls = 0;                           // all alike
  if (n.kind == Node::kMembers && cls >= n.names.size()) return 2;  // the key with its quotes, and the separator
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

// A lower bound of an entry, with its separator, that satisfies the claim.
Cost Completion::claim_cost(NodeId node, uint32_t claim) {
  const auto [found, is_new] = claim_costs_.try_emplace(pair(node, claim), kFar);
  if (!is_new) return found->second;
  const Node& n = grammar_.nodes[node];
  Cost least = kFar;
  for (const ClassId cls : n.claims[claim].classes) {
    for (const Pick& pick : n.values[cls]) {
      if (!std::binary_search(pick.claims.begin(), pick.claims.end(), claim)) continue;
      least = std::min(least, plus(nodes_[pick.node], segment(node, cls)));
    }
  }
  return claim_costs_[pair(node, claim)] = least;
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

}  // namespace gd
