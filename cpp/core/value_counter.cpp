#include "value_counter.h"

#include <algorithm>
#include <queue>

#include "errors.h"

namespace gd {
namespace {

constexpr uint64_t kMostSteps = 1'000'000;  // each keeps at most a text of some bytes
enum class Going : uint8_t { kGoOn, kSkip, kStop };

constexpr uint32_t kMostEntries = 400;  // of one container that is listed

}  // namespace

ValueCounter::ValueCounter(const Grammar& grammar, ExpressionPool& expressions, const std::vector<ExprId>& regexes,
                           const ByteSet& alphabet, Containers& containers, ValuePool& values)
    : grammar_(grammar),
      expressions_(expressions),
      regexes_(regexes),
      alphabet_(alphabet),
      containers_(containers),
      values_(values) {
  const auto range = [&](uint8_t first, uint8_t last) {
    ByteSet set;
    for (uint32_t byte = first; byte <= last; ++byte) set.insert(static_cast<uint8_t>(byte));
    return set;
  };
  ExpressionPool& pool = expressions_;
  const auto byte = [&](char c) { return pool.literal_byte(static_cast<uint8_t>(c)); };
  ByteSet letters = range(0x20, 0x7E);
  for (const char c : {'"', '\\'}) letters.words[static_cast<uint8_t>(c) >> 6] &= ~(uint64_t{1} << (static_cast<uint8_t>(c) & 63));
  plain_string_ = pool.concat(pool.repeat(pool.make_class(letters), 0, kNone), byte('"'));
  const ExprId digits = pool.repeat(pool.make_class(range('0', '9')), 0, kNone);
  const ExprId first = pool.make_class(range('1', '9'));
  const ExprId fraction = pool.concat(byte('.'), pool.concat(digits, first));
  const ExprId optional_fraction = pool.repeat(fraction, 0, 1);
  const ExprId number = pool.concat(pool.repeat(byte('-'), 0, 1), pool.concat(first, pool.concat(digits, optional_fraction)));
  const ExprId small = pool.concat(byte('0'), optional_fraction);
  const ExprId word = pool.concat(pool.make_class(range('a', 'z')), pool.repeat(pool.make_class(range('a', 'z')), 0, kNone));
  plain_ = pool.either({pool.concat(byte('"'), plain_string_), number, small, word});
}

void ValueCounter::spend() {
  expressions_.work().tick();
  if (++steps_ > kMostSteps) {
    throw LimitError("max_search", "deciding whether distinct items are left takes more than " + std::to_string(kMostSteps) +
                                       " steps; simplify the items of the array with uniqueItems");
  }
}

void ValueCounter::forget() {
  node_bounds_.clear();
  pick_bounds_.clear();
  register_bounds_.clear();
  listed_.clear();
}

// ---- lower bounds ---------------------------------------------------------------------------------------------------

uint64_t ValueCounter::at_least(ExprId rest, std::string_view text) {
  const StringPrefix string = read_string(text);
  if (string.valid && !string.closed) {  // what has been read of a string makes no difference
    const auto known = string_bounds_.find(rest);
    if (known != string_bounds_.end()) return known->second;
    const uint64_t bound = string.pending.empty() ? expressions_.num_strings(expressions_.both(rest, plain_string_))
                                                  : at_least_behind_escape(rest, std::string(text));
    return string_bounds_[rest] = bound;
  }
  ExprId plain = plain_;
  for (const char c : text) plain = expressions_.step(plain, static_cast<uint8_t>(c));
  return expressions_.num_strings(expressions_.both(rest, plain));
}

// In the middle of an escape: the most of some ways to complete it.
uint64_t ValueCounter::at_least_behind_escape(ExprId rest, std::string text) {
  constexpr uint64_t kEnough = 1'000'000;  // one way with so many is as good as any
  constexpr uint32_t kMostWays = 8;
  uint64_t best = 0;
  uint32_t num_ways = 0;
  std::vector<std::pair<ExprId, std::string>> stack{{rest, std::move(text)}};
  while (!stack.empty() && num_ways < kMostWays && best < kEnough) {
    const auto [state, so_far] = std::move(stack.back());
    stack.pop_back();
    if (read_string(so_far).pending.empty()) {
      ++num_ways;
      best = std::max(best, at_least(state, so_far));
      continue;
    }
    const ByteSet live = expressions_.live_bytes(state);
    live.for_each([&](uint8_t byte) {
      if (alphabet_.contains(byte)) stack.emplace_back(expressions_.step(state, byte), so_far + static_cast<char>(byte));
    });
  }
  return best;
}

uint64_t ValueCounter::values_of_node(NodeId id) {
  if (!containers_.is_live(id)) return 0;
  const auto [at, added] = node_bounds_.emplace(id, 1);  // a node within itself counts as one value
  if (!added) return at->second;
  const Node& n = grammar_.nodes[id];
  uint64_t bound = 1;
  switch (n.kind) {
    case Node::kTerminal:
      bound = at_least(regexes_[n.regex], {});
      break;
    case Node::kChoice:
      for (const NodeId choice : n.choices) bound = std::max(bound, values_of_node(choice));
      break;
    case Node::kChain:  // is no value: never within an array
      break;
    case Node::kMembers:
    case Node::kElements:
      bound = ways_to_go_on(containers_.initial(id));
      break;
  }
  return node_bounds_[id] = std::max<uint64_t>(bound, 1);
}

uint64_t ValueCounter::ways_to_go_on(RegisterId reg) {
  const auto [at, added] = register_bounds_.emplace(reg, 1);
  if (!added) return at->second;
  const Node& n = containers_.node(reg);
  uint64_t bound = 1;
  const auto of_entries = [&](ClassId cls) {
    uint64_t most = 0;
    const std::vector<Containers::Entry> entries = containers_.entries(reg, cls);
    for (const Containers::Entry& entry : entries) most = std::max(most, values_of_node(entry.value));
    return most;
  };
  if (n.kind == Node::kMembers) {
    const uint32_t num_names = static_cast<uint32_t>(n.names.size());
    for (ClassId cls = 0; cls < n.num_classes() && bound < kMany; ++cls) {
      const uint64_t values = of_entries(cls);
      if (values == 0) continue;
      bound = std::max(bound, values);
      if (cls < num_names) continue;
      const uint64_t keys = expressions_.num_strings(regexes_[n.patterns[cls - num_names]]);
      const uint64_t taken = n.names.size() + containers_.used_texts(reg).size();
      if (keys > taken) bound = std::max(bound, keys >= kMany ? kMany : keys - taken);
    }
  } else {
    const uint64_t values = of_entries(containers_.item_class(reg));
    bound = std::max(bound, values);
    const bool is_endless = n.max_count == kNone && containers_[reg].formula == FormulaPool::kTrue &&
                            !containers_.entries(reg, n.prefix).empty() && values > 0;
    if (!n.unique) {
      if (is_endless) bound = kMany;  // arrays of any length
    } else if (!is_plenty(reg, 1)) {
      bound = 1;  // not every first item need have a second one
    }
  }
  return register_bounds_[reg] = bound;
}

// The fewest values that any way to read an item that is still to come has.
uint64_t ValueCounter::least_of_picks(RegisterId reg) {
  const NodeId array = containers_[reg].node;
  const ClassId next = containers_.item_class(reg);
  const uint64_t key = (uint64_t{array} << 32) | next;
  const auto known = pick_bounds_.find(key);
  if (known != pick_bounds_.end()) return known->second;
  const std::vector<std::vector<Pick>>& values = grammar_.nodes[array].values;
  uint64_t least = kMany;
  for (ClassId cls = next; cls < values.size(); ++cls) {
    for (const Pick& pick : values[cls]) {
      if (containers_.is_live(pick.node)) least = std::min(least, values_of_node(pick.node));
    }
  }
  return pick_bounds_[key] = least;
}

// No shortest way to finish has more items than this.
uint64_t ValueCounter::needed(RegisterId reg) {
  const Node& n = containers_.node(reg);
  const Register& r = containers_[reg];
  uint64_t sum = n.min_count > r.count ? n.min_count - r.count : 0;
  if (r.formula == FormulaPool::kTrue) return sum;
  sum += n.prefix;
  for (const Claim& claim : n.claims) {
    if (claim.kind == Claim::kSome || claim.kind == Claim::kCountMin) sum += claim.count;
  }
  return sum;
}

bool ValueCounter::is_plenty(RegisterId reg, uint64_t num_used) { return least_of_picks(reg) > num_used + needed(reg); }

// ---- unique arrays --------------------------------------------------------------------------------------------------

bool ValueCounter::can_finish(RegisterId reg, const std::vector<ValueId>& used) {
  if (containers_.can_close(reg) || is_plenty(reg, used.size())) return true;
  if (containers_[reg].formula == FormulaPool::kTrue) return has_distinct(reg, used);
  return search_distinct(reg, used, needed(reg));
}

bool ValueCounter::can_go_on(RegisterId reg, const std::vector<ValueId>& used) {
  const std::vector<Containers::Entry> entries = containers_.entries(reg, containers_.item_class(reg));
  for (const Containers::Entry& entry : entries) {
    if (is_plenty(entry.next, used.size() + 1) && values_of_node(entry.value) > used.size()) return true;
    const size_t enough = needed(entry.next) + 1;  // one of so many is left by the other items
    std::vector<ValueId> values = domain(entry.value, used, enough);
    if (values.size() > enough) values.resize(enough);
    for (const ValueId value : values) {
      spend();
      std::vector<ValueId> next = used;
      next.insert(std::lower_bound(next.begin(), next.end(), value), value);
      if (can_finish(entry.next, next)) return true;
    }
  }
  return false;
}

// The values of a node that are not used, or `enough` of them. Throws LimitError where they can't be listed.
std::vector<ValueId> ValueCounter::domain(NodeId node, const std::vector<ValueId>& used, size_t enough) {
  for (uint32_t number = 0;; ++number) {
    Values found = round(number);
    const bool is_last = number + 1 == kNumRounds;
    if (is_last) found.limit = std::max(found.limit, used.size() + enough);
    list_node(node, found);
    std::vector<ValueId> free;
    for (const ValueId value : found.list) {
      if (!ValuePool::contains(used, value)) free.push_back(value);
    }
    if (found.complete || free.size() >= enough) return free;
    if (is_last) throw LimitError("max_search", "the items of an array with uniqueItems have values that can't be listed");
  }
}

// Without a formula: the items that must still come are a matching of positions and values (Kuhn 1955).
bool ValueCounter::has_distinct(RegisterId reg, const std::vector<ValueId>& used) {
  const Node& n = containers_.node(reg);
  const uint32_t count = containers_[reg].count;
  const size_t missing = n.min_count > count ? n.min_count - count : 0;
  std::unordered_map<NodeId, std::vector<ValueId>> domains;  // of nodes whose values could run out
  std::vector<const std::vector<ValueId>*> positions;
  for (size_t i = count; i < count + missing; ++i) {
    const size_t num_alike = i < n.prefix ? 1 : count + missing - i;  // positions from here on that take the same values
    NodeId node = kNone;
    for (const Pick& pick : n.values[std::min<size_t>(i, n.prefix)]) {
      if (pick.claims.empty() && containers_.is_live(pick.node)) node = pick.node;
    }
    if (node == kNone) return false;
    if (values_of_node(node) < used.size() + missing) {
      const auto [at, added] = domains.try_emplace(node);
      if (added) at->second = domain(node, used, missing);
      if (at->second.size() < num_alike) return false;
      if (at->second.size() < missing) positions.insert(positions.end(), num_alike, &at->second);
    }
    if (i >= n.prefix) break;
  }
  if (domains.size() == 1) return positions.empty() || positions[0]->size() >= positions.size();
  struct Trial {
    size_t position;
    size_t next;  // of its values
  };
  std::unordered_map<ValueId, size_t> owner;
  for (size_t start = 0; start < positions.size(); ++start) {
    std::unordered_set<ValueId> tried;
    std::vector<Trial> path{{start, 0}};  // each position would take the value of the next one
    while (true) {
      if (path.empty()) return false;
      const std::vector<ValueId>& values = *positions[path.back().position];
      if (path.back().next == values.size()) {
        path.pop_back();
        continue;
      }
      spend();
      const ValueId value = values[path.back().next++];
      if (!tried.insert(value).second) continue;
      const auto at = owner.find(value);
      if (at == owner.end()) break;
      path.push_back({at->second, 0});
    }
    for (const Trial& trial : path) owner[(*positions[trial.position])[trial.next - 1]] = trial.position;
  }
  return true;
}

// With a formula: a search. A way to finish needs no more than `left` items, since any other one could be left out; and of a node with
// more values than that, so many are enough to try, since the other items leave one of them.
bool ValueCounter::search_distinct(RegisterId reg, std::vector<ValueId> used, uint64_t left) {
  spend();
  if (containers_.can_close(reg)) return true;
  if (left == 0) return false;
  const std::vector<Containers::Entry> entries = containers_.entries(reg, containers_.item_class(reg));
  for (const Containers::Entry& entry : entries) {
    std::vector<ValueId> values = domain(entry.value, used, left + 1);
    if (values.size() > left + 1) values.resize(left + 1);
    for (const ValueId value : values) {
      std::vector<ValueId> next = used;
      next.insert(std::lower_bound(next.begin(), next.end(), value), value);
      if (is_plenty(entry.next, next.size()) || search_distinct(entry.next, std::move(next), left - 1)) return true;
    }
  }
  return false;
}

// ---- listing --------------------------------------------------------------------------------------------------------

ValueCounter::Values ValueCounter::round(uint32_t number) {
  constexpr size_t kSizes[kNumRounds] = {16, 512, 8192, 70000};
  constexpr uint32_t kDepths[kNumRounds] = {3, 6, 12, 24};
  return {kSizes[number], kDepths[number], true, {}, {}};
}

// The bytes of the shortest text that leads from `rest` to a match.
uint32_t ValueCounter::distance(ExprId rest) {
  const auto known = distances_.find(rest);
  if (known != distances_.end()) return known->second;
  std::unordered_set<ExprId> met{rest};
  std::vector<ExprId> layer{rest};
  for (uint32_t length = 0; !layer.empty(); ++length) {
    std::vector<ExprId> next_layer;
    for (const ExprId state : layer) {
      spend();
      if (expressions_.nullable(state)) return distances_[rest] = length;
      const ByteSet live = expressions_.live_bytes(state);
      live.for_each([&](uint8_t byte) {
        const ExprId next = alphabet_.contains(byte) ? expressions_.step(state, byte) : ExpressionPool::kEmpty;
        if (next != ExpressionPool::kEmpty && met.insert(next).second) next_layer.push_back(next);
      });
    }
    layer = std::move(next_layer);
  }
  return distances_[rest] = kNone;
}

// Calls found(state, text) for texts that begin with `text`: best first by the length that they must reach, and the longest among
// equals, so that the first whole texts are found at once. What it returns tells whether to go on from there.
template <class Found>
void ValueCounter::for_each_text(ExprId rest, std::string text, Found found) {
  struct Open {
    uint32_t length;  // of the shortest whole text that begins so
    ExprId state;
    std::string text;
    bool operator<(const Open& other) const {  // the top of the queue is the largest
      return length != other.length ? length > other.length : text.size() < other.text.size();
    }
  };
  std::priority_queue<Open> queue;
  const auto push = [&](ExprId state, std::string so_far) {
    spend();
    const uint32_t behind = distance(state);
    if (behind != kNone) queue.push({static_cast<uint32_t>(so_far.size()) + behind, state, std::move(so_far)});
  };
  push(rest, std::move(text));
  while (!queue.empty()) {
    spend();
    const Open open = queue.top();
    queue.pop();
    const Going going = found(open.state, open.text);
    if (going == Going::kStop) return;
    if (going == Going::kSkip) continue;
    const ByteSet live = expressions_.live_bytes(open.state);
    live.for_each([&](uint8_t byte) {
      if (alphabet_.contains(byte)) push(expressions_.step(open.state, byte), open.text + static_cast<char>(byte));
    });
  }
}

std::vector<std::string> ValueCounter::list_texts(ExprId rest, std::string text, size_t limit, bool& complete) {
  std::vector<std::string> texts;
  for_each_text(rest, std::move(text), [&](ExprId state, const std::string& so_far) {
    if (!expressions_.nullable(state)) return Going::kGoOn;
    if (texts.size() == limit) {
      complete = false;
      return Going::kStop;
    }
    texts.push_back(so_far);
    return Going::kGoOn;
  });
  return texts;
}

// Whether a digit other than zero can follow, perhaps behind more zeros.
bool ValueCounter::zeros_may_count(ExprId state) {
  std::unordered_set<ExprId> met;
  for (; state != ExpressionPool::kEmpty && met.insert(state).second; state = expressions_.step(state, '0')) {
    for (uint8_t digit = '1'; digit <= '9'; ++digit) {
      if (alphabet_.contains(digit) && expressions_.step(state, digit) != ExpressionPool::kEmpty) return true;
    }
    if (!alphabet_.contains('0')) return false;
  }
  return false;
}

// Texts of equal meaning in the same state are followed once.
void ValueCounter::list_scalars(ExprId rest, const std::string& text, Values& out) {
  std::unordered_set<std::string> met;
  const auto is_new = [&](ExprId state, const std::string& so_far) {
    std::string meaning;
    const StringPrefix string = read_string(so_far);
    const NumberPrefix number = read_number(so_far);
    if (string.valid) {
      meaning.assign("s").append(string.text).append(string.closed ? "\"" : "\\").append(string.pending);
    } else if (number.valid) {
      // Zeros behind the point matter only if another digit can follow them; the exponent of zero never does.
      const size_t last = number.digits.find_last_not_of('0') + 1;
      const auto zeros = static_cast<int64_t>(number.digits.size() - last);
      const bool in_fraction = so_far.find('.') != std::string::npos;
      const bool is_open = in_fraction && !number.has_exponent && zeros_may_count(state);
      meaning.assign(number.negative ? "-" : "+").append(number.digits, 0, last).append("|");
      if (last > 0) {
        meaning.append(std::to_string(number.scale - zeros));
        if (is_open) meaning.append("z").append(std::to_string(zeros));
      } else if (is_open) {
        meaning.append("z").append(std::to_string(number.scale));
      }
      meaning += in_fraction ? "." : "";
      if (number.has_exponent) meaning += (number.exponent_negative ? "e-" : "e+") + (last > 0 ? number.exponent_digits : "");
    } else {
      meaning.assign("t").append(so_far);
    }
    meaning.append("#").append(std::to_string(state));
    return met.insert(std::move(meaning)).second;
  };
  for_each_text(rest, text, [&](ExprId state, const std::string& so_far) {
    if (!is_new(state, so_far)) return Going::kSkip;
    if (expressions_.nullable(state) && !so_far.empty()) {
      out.add(values_.scalar(so_far));
      if (out.is_full()) {
        out.complete = false;
        return Going::kStop;
      }
    }
    return Going::kGoOn;
  });
}

void ValueCounter::list_node(NodeId id, Values& out) {
  if (!containers_.is_live(id)) return;
  const Node& n = grammar_.nodes[id];
  if (n.kind != Node::kTerminal && n.kind != Node::kChoice) {
    if (out.depth == 0) {
      out.complete = false;
      return;
    }
  }
  const uint64_t key = combine(combine(id, out.limit), out.depth);
  const auto known = listed_.find(key);
  if (known != listed_.end()) {
    for (const ValueId value : known->second.list) out.add(value);
    out.complete = out.complete && known->second.complete;
    return;
  }
  Values own = out.like();
  switch (n.kind) {
    case Node::kTerminal:
      list_scalars(regexes_[n.regex], {}, own);
      break;
    case Node::kChoice: {
      listed_.emplace(key, Values{own.limit, own.depth, false, {}, {}});  // a choice of itself adds nothing, but is not all
      for (const NodeId choice : n.choices) {
        if (!own.is_full()) list_node(choice, own);
      }
      if (own.is_full()) own.complete = false;
      listed_.erase(key);
      break;
    }
    case Node::kChain:  // is no value
      break;
    case Node::kMembers:
      --own.depth;
      list_objects(containers_.initial(id), ValuePool::kNoValues, false, own);
      break;
    case Node::kElements:
      --own.depth;
      list_arrays(containers_.initial(id), ValuePool::kNoValues, ValuePool::kNoValues, false, own);
      break;
  }
  for (const ValueId value : own.list) out.add(value);
  out.complete = out.complete && own.complete;
  own.depth = out.depth;
  listed_.emplace(key, std::move(own));
}

void ValueCounter::list_objects(RegisterId reg, ListId members, bool must_take, Values& out) {
  list_objects_from(reg, members, 0, 0, must_take, 0, out);
}

// Names in one order (ranked ones by rank, then required, then others), then keys of patterns, so that no object is met in two orders.
void ValueCounter::list_objects_from(RegisterId reg, ListId members, size_t from, uint32_t key_from, bool must_take, uint32_t depth,
                                     Values& out) {
  spend();
  if (!must_take && containers_.can_close(reg)) out.add(values_.object(members));
  if (out.is_full() || depth > kMostEntries) {
    out.complete = false;
    return;
  }
  const Node& n = containers_.node(reg);
  const size_t num_names = n.names.size();
  const std::vector<ClassId>& order = containers_.listing_order(containers_[reg].node);
  for (size_t i = from; i < num_names; ++i) {
    const ClassId cls = order[i];
    const ValueId key = values_.key(n.names[cls]);
    const std::vector<Containers::Entry> entries = containers_.entries(reg, cls);
    for (const Containers::Entry& entry : entries) {
      Values found = out.like();
      list_node(entry.value, found);
      out.complete = out.complete && found.complete;
      for (const ValueId value : found.list) {
        list_objects_from(entry.next, values_.with_member(members, key, value), i + 1, 0, false, depth + 1, out);
        if (out.is_full()) return;
      }
    }
    if (containers_.is_missing(reg, cls)) return;  // nothing can be finished without it
  }
  const size_t num_patterns = n.patterns.size();
  for (size_t p = from > num_names ? from - num_names : 0; p < num_patterns; ++p) {
    const ClassId cls = static_cast<ClassId>(num_names + p);
    const std::vector<Containers::Entry> entries = containers_.entries(reg, cls);
    if (entries.empty()) continue;
    bool all_keys = true;
    const std::vector<std::string> keys = list_texts(regexes_[n.patterns[p]], {}, out.limit + num_names, all_keys);
    out.complete = out.complete && all_keys;
    const bool same_pattern = from == num_names + p;
    for (size_t k = same_pattern ? key_from : 0; k < keys.size(); ++k) {
      if (std::find(n.names.begin(), n.names.end(), keys[k]) != n.names.end()) continue;
      const ValueId key = values_.key(keys[k]);
      if (ValuePool::member(values_.list(members), key) != ValuePool::kAbsent) continue;
      TextId text = TextPool::kEmptyText;
      for (const char c : keys[k]) text = containers_.texts().append(text, static_cast<uint8_t>(c));
      for (const Containers::Entry& entry : entries) {
        const RegisterId next = containers_.with_used(entry.next, text);
        if (next == kNone) continue;
        Values found = out.like();
        list_node(entry.value, found);
        out.complete = out.complete && found.complete;
        for (const ValueId value : found.list) {
          list_objects_from(next, values_.with_member(members, key, value), num_names + p, static_cast<uint32_t>(k) + 1, false,
                            depth + 1, out);
          if (out.is_full()) return;
        }
      }
    }
  }
}

void ValueCounter::list_arrays(RegisterId reg, ListId items, ListId used, bool must_take, Values& out) {
  list_arrays_from(reg, items, used, must_take, 0, out);
}

void ValueCounter::list_arrays_from(RegisterId reg, ListId items, ListId used, bool must_take, uint32_t depth, Values& out) {
  spend();
  const bool unique = containers_.node(reg).unique;
  if (!must_take && containers_.can_close(reg)) out.add(values_.array(items));
  if (out.is_full() || depth > kMostEntries) {
    out.complete = false;
    return;
  }
  const std::vector<Containers::Entry> entries = containers_.entries(reg, containers_.item_class(reg));
  for (const Containers::Entry& entry : entries) {
    Values found = out.like();
    list_node(entry.value, found);
    out.complete = out.complete && found.complete;
    for (const ValueId value : found.list) {
      ListId next_used = used;
      if (unique) {
        if (ValuePool::contains(values_.list(used), value)) continue;
        next_used = values_.with_value(used, value);
        if (!can_finish(entry.next, std::vector<ValueId>(values_.list(next_used)))) continue;
      }
      list_arrays_from(entry.next, values_.appended(items, value), next_used, false, depth + 1, out);
      if (out.is_full()) return;
    }
  }
}

}  // namespace gd
