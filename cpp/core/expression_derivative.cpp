// Derivatives of expressions, the rows of the automaton that they are, and the search for a match.
//
// The parts of an intersection or complement are automata of their own that run side by side: each part's derivatives are kept, so that a
// step of the whole is a look-up for each part, whatever the parts are.

#include <algorithm>
#include <cstring>
#include <queue>
#include <unordered_set>

#include "errors.h"
#include "expression.h"

namespace gd {
namespace {

// One search for a match may reach so much of max_states, and take derivatives of so many terms for each of them.
constexpr uint32_t kShareOfSearch = 10;
constexpr uint64_t kTermsOfState = 600;

constexpr size_t kBytesOfWay = 40;

constexpr uint32_t kUnknownNeed = 0xFFFFFFFF;

}  // namespace

ExprId ExpressionPool::derivative(ExprId id, uint8_t byte) {
  ++num_derivatives_;
  work_.tick();
  const Expr e = exprs_[id];  // a copy: the table grows below
  switch (e.kind) {
    case Kind::kConstant:
      return kEmpty;
    case Kind::kClass:
      return sets_[e.a].contains(byte) ? kEpsilon : kEmpty;
    case Kind::kConcat: {
      const ExprId first = concat(part_derivative(e.a, byte), e.b);
      if (!exprs_[e.a].nullable) return first;
      const ExprId second = derivative(e.b, byte);
      return first == kEmpty ? second : alternate({first, second});
    }
    case Kind::kAlternate: {
      std::vector<ExprId> list;
      for (uint32_t i = 0; i < e.b; ++i) {
        const ExprId d = part_derivative(parts_[e.a + i], byte);
        if (d != kEmpty) list.push_back(d);
      }
      return alternate(std::move(list));
    }
    case Kind::kRepeat: {
      const ExprId d = derivative(e.a, byte);
      if (d == kEmpty) return kEmpty;
      return concat(d, repeat(e.a, e.b == 0 ? 0 : e.b - 1, e.c == kNone ? kNone : e.c - 1));
    }
    case Kind::kIntersect: {
      std::vector<ExprId> list;
      for (uint32_t i = 0; i < e.b; ++i) {
        const ExprId d = kept_derivative(parts_[e.a + i], byte);
        if (d == kEmpty) return kEmpty;
        list.push_back(d);
      }
      return intersect(std::move(list));
    }
    case Kind::kComplement:
      return complement(kept_derivative(e.a, byte));
    case Kind::kAutomaton:
      for (const auto& [bytes, target] : (*automata_[e.a])[e.b].transitions) {
        if (bytes.contains(byte)) return automaton(e.a, target);
      }
      return kEmpty;
    case Kind::kLiterals: {
      const std::vector<std::string>& set = *literal_sets_[e.a];
      const auto at = [&](uint32_t i) { return static_cast<uint8_t>(set[i][e.d]); };
      const uint32_t begin = e.nullable ? e.b + 1 : e.b;
      uint32_t low = begin;
      uint32_t high = e.c;
      while (low < high) {  // first literal whose next byte is >= byte
        const uint32_t middle = low + (high - low) / 2;
        if (at(middle) < byte) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      const uint32_t first = low;
      high = e.c;
      while (low < high) {  // first literal whose next byte is > byte
        const uint32_t middle = low + (high - low) / 2;
        if (at(middle) <= byte) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      return literals(e.a, first, low, e.d + 1);
    }
  }
  return kEmpty;
}

void ExpressionPool::split(const ByteSet& set, std::array<uint16_t, 256>& classes, uint32_t& num_classes) {
  std::array<uint16_t, 600> renamed;
  renamed.fill(0xFFFF);
  set.for_each([&](uint8_t byte) {
    uint16_t& name = renamed[classes[byte]];
    if (name == 0xFFFF) name = static_cast<uint16_t>(num_classes++);
    classes[byte] = name;
  });
  if (num_classes < 300) return;
  renamed.fill(0xFFFF);  // compact the numbers: at most 256 are in use
  num_classes = 0;
  for (uint16_t& name : classes) {
    if (renamed[name] == 0xFFFF) renamed[name] = static_cast<uint16_t>(num_classes++);
    name = renamed[name];
  }
}

// The classes, numbered as they are met in ascending order of bytes.
ExpressionPool::PartitionId ExpressionPool::intern_partition(const std::array<uint16_t, 256>& classes) {
  Partition p;
  std::array<uint16_t, 600> names;
  names.fill(0xFFFF);
  uint64_t hash = 11;
  for (size_t byte = 0; byte < 256; ++byte) {
    uint16_t& name = names[classes[byte]];
    if (name == 0xFFFF) name = static_cast<uint16_t>(p.size++);
    p.classes[byte] = static_cast<uint8_t>(name);
  }
  for (size_t byte = 0; byte < 256; byte += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, p.classes.data() + byte, sizeof word);
    hash = combine(hash, word);
  }
  make_room(partitions_);
  const auto next = static_cast<PartitionId>(partitions_.size());
  const PartitionId id =
      partition_index_.find_or_add(hash, next, [&](uint32_t other) { return partitions_[other].classes == p.classes; });
  if (id == next) {
    partitions_.push_back(p);
    memory_bytes_ += sizeof(Partition);
  }
  return id;
}

// The coarsest partition that both refine to.
ExpressionPool::PartitionId ExpressionPool::common_partition(PartitionId a, PartitionId b) {
  if (a == b) return a;
  const uint64_t key = (uint64_t{std::min(a, b)} << 32) | std::max(a, b);
  if (const auto known = common_partitions_.find(key); known != common_partitions_.end()) return known->second;
  std::array<uint16_t, 256> classes{};
  uint32_t num_classes = partitions_[a].size;
  std::copy(partitions_[a].classes.begin(), partitions_[a].classes.end(), classes.begin());
  split(partitions_[b], classes, num_classes);
  const PartitionId id = intern_partition(classes);
  common_partitions_.emplace(key, id);
  return id;
}

// What is kept of an expression: which bytes have the same derivative, and the derivatives that were asked for.
ExpressionPool::Derivatives& ExpressionPool::kept(ExprId id) {
  if (derivatives_.size() <= id) derivatives_.resize(exprs_.size());
  if (derivatives_[id] == nullptr) {
    const Expr& e = exprs_[id];
    PartitionId partition = 0;
    if (e.kind == Kind::kIntersect) {
      partition = kept(parts_[e.a]).partition;
      for (uint32_t i = 1; i < e.b; ++i) partition = common_partition(partition, kept(parts_[e.a + i]).partition);
    } else if (e.kind == Kind::kComplement) {
      partition = kept(e.a).partition;
    } else {
      std::array<uint16_t, 256> classes{};
      uint32_t num_classes = 1;
      refine(id, classes, num_classes);
      partition = intern_partition(classes);
    }
    const uint32_t size = partitions_[partition].size;
    derivatives_[id] = std::make_unique<Derivatives>(Derivatives{partition, std::vector<ExprId>(size, kNone)});
    memory_bytes_ += sizeof(Derivatives) + sizeof(derivatives_[0]) + size * sizeof(ExprId);
  }
  return *derivatives_[id];
}

ExprId ExpressionPool::kept_derivative(ExprId id, uint8_t byte) {
  Derivatives& known = kept(id);
  ExprId& target = known.targets[partitions_[known.partition].classes[byte]];
  if (target == kNone) target = derivative(id, byte);
  return target;
}

void ExpressionPool::split(const Partition& by, std::array<uint16_t, 256>& classes, uint32_t& num_classes) {
  std::vector<uint16_t> names(size_t{num_classes} * by.size, 0xFFFF);
  uint32_t count = 0;
  for (size_t byte = 0; byte < 256; ++byte) {
    uint16_t& name = names[size_t{classes[byte]} * by.size + by.classes[byte]];
    if (name == 0xFFFF) name = static_cast<uint16_t>(count++);
    classes[byte] = name;
  }
  num_classes = count;
}

void ExpressionPool::refine(ExprId id, std::array<uint16_t, 256>& classes, uint32_t& num_classes) {
  for (;;) {  // loops along the spine of a concatenation, recurses into the rest
    const Expr& e = exprs_[id];
    switch (e.kind) {
      case Kind::kConstant:
        return;
      case Kind::kClass:
        split(sets_[e.a], classes, num_classes);
        return;
      case Kind::kConcat:
        refine(e.a, classes, num_classes);
        if (!exprs_[e.a].nullable) return;
        id = e.b;
        continue;
      case Kind::kAlternate:
        for (const ExprId part : parts(e)) refine(part, classes, num_classes);
        return;
      case Kind::kRepeat:
        id = e.a;
        continue;
      case Kind::kIntersect:
      case Kind::kComplement:
        split(partitions_[kept(id).partition], classes, num_classes);
        return;
      case Kind::kAutomaton:
        for (const auto& [bytes, target] : (*automata_[e.a])[e.b].transitions) split(bytes, classes, num_classes);
        return;
      case Kind::kLiterals: {
        const std::vector<std::string>& set = *literal_sets_[e.a];
        for (uint32_t i = e.nullable ? e.b + 1 : e.b; i < e.c;) {
          const char byte = set[i][e.d];
          ByteSet one;
          one.insert(static_cast<uint8_t>(byte));
          split(one, classes, num_classes);
          // skip to the next distinct byte by doubling steps
          uint32_t low = i + 1;
          uint32_t step = 1;
          while (low + step < e.c && set[low + step][e.d] == byte) {
            low += step;
            step *= 2;
          }
          while (low < e.c && set[low][e.d] == byte) ++low;
          i = low;
        }
        return;
      }
    }
  }
}

// Called before a state is worked on, never in the middle: what is interned stays whole.
void ExpressionPool::check_size() const {
  if (exprs_.size() < max_states_) return;
  throw LimitError("max_states", "the automaton needs more than " + std::to_string(max_states_) + " states");
}

const ExprId* ExpressionPool::build_row(ExprId id) {
  check_size();
  std::array<uint16_t, 256> classes{};
  uint32_t num_classes = 1;
  refine(id, classes, num_classes);
  Row row;
  std::array<ExprId, 600> targets;
  targets.fill(kNone);
  for (uint32_t byte = 0; byte < 256; ++byte) {
    ExprId& target = targets[classes[byte]];
    if (target == kNone) {
      target = part_derivative(id, static_cast<uint8_t>(byte));
      if (!is_nonempty(target)) target = kEmpty;
    }
    row.next[byte] = target;
    if (target != kEmpty) row.live.insert(static_cast<uint8_t>(byte));
  }
  memory_bytes_ += sizeof(Row);
  Row* made = row_slab_.make();
  *made = row;
  rows_[id] = made;
  return rows_[id]->next.data();
}

bool ExpressionPool::is_nonempty(ExprId id) {
  {
    const Expr& e = exprs_[id];
    if (e.nonempty != Tri::kUnknown) return e.nonempty == Tri::kYes;
    if (e.nullable || (e.positive && full_alphabet_)) {  // the constructors keep kEmpty out of positive terms
      exprs_[id].nonempty = Tri::kYes;
      return true;
    }
  }
  bool result = false;
  const Expr e = exprs_[id];
  switch (e.kind) {
    case Kind::kConstant:
      result = e.a == 1;
      break;
    case Kind::kClass:
      result = sets_[e.a].intersects(alphabet_);
      break;
    case Kind::kConcat: {
      ExprId at = id;  // along the spine in a loop: it may be long
      result = true;
      while (result && exprs_[at].kind == Kind::kConcat && exprs_[at].nonempty == Tri::kUnknown) {
        result = is_nonempty(exprs_[at].a);
        at = exprs_[at].b;
      }
      result = result && is_nonempty(at);
      break;
    }
    case Kind::kAlternate:
      for (uint32_t i = 0; i < e.b && !result; ++i) result = is_nonempty(parts_[e.a + i]);
      break;
    case Kind::kRepeat:
      result = e.b == 0 || is_nonempty(e.a);
      break;
    case Kind::kLiterals: {
      const std::vector<std::string>& set = *literal_sets_[e.a];
      for (uint32_t i = e.b; i < e.c && !result; ++i) {
        result =
            std::all_of(set[i].begin() + e.d, set[i].end(), [&](char c) { return alphabet_.contains(static_cast<uint8_t>(c)); });
      }
      break;
    }
    case Kind::kIntersect:
    case Kind::kComplement:
    case Kind::kAutomaton:
      return search_nonempty(id);
  }
  exprs_[id].nonempty = result ? Tri::kYes : Tri::kNo;
  return result;
}

// What a text has to bring before the expression is met, in bytes; for several conjuncts the sum of it. An estimate, for the order of a search.
uint32_t ExpressionPool::need(ExprId id) {
  if (exprs_[id].nullable) return 0;
  if (needs_.size() <= id) needs_.resize(exprs_.size(), kUnknownNeed);
  if (needs_[id] != kUnknownNeed) return needs_[id];
  const Expr e = exprs_[id];
  uint64_t result = 0;
  switch (e.kind) {
    case Kind::kIntersect:
      for (uint32_t i = 0; i < e.b; ++i) result += need(parts_[e.a + i]);
      break;
    case Kind::kAlternate:
      result = kEndless;
      for (uint32_t i = 0; i < e.b; ++i) result = std::min<uint64_t>(result, need(parts_[e.a + i]));
      break;
    case Kind::kConcat:
      result = uint64_t{need(e.a)} + least_length(e.b);
      break;
    case Kind::kRepeat:
      result = uint64_t{need(e.a)} * e.b;
      break;
    case Kind::kAutomaton:
      result = automaton_distance(e.a, e.b);
      break;
    case Kind::kComplement:
      result = 1;
      break;
    case Kind::kClass:
    case Kind::kLiterals:
    case Kind::kConstant:
      result = least_length(id);
      break;
  }
  return needs_[id] = static_cast<uint32_t>(std::min<uint64_t>(result, kEndless));
}

// The transitions from a state of an automaton to the nearest one that accepts.
uint32_t ExpressionPool::automaton_distance(uint32_t index, uint32_t state) {
  if (automaton_distances_.size() <= index) automaton_distances_.resize(automata_.size());
  std::vector<uint32_t>& distances = automaton_distances_[index];
  if (distances.empty()) {
    const std::vector<Regex::State>& states = *automata_[index];
    std::vector<std::vector<uint32_t>> from(states.size());
    std::vector<uint32_t> queue;
    distances.assign(states.size(), kEndless);
    for (uint32_t i = 0; i < states.size(); ++i) {
      for (const auto& [bytes, target] : states[i].transitions) from[target].push_back(i);
      if (states[i].accepting) {
        distances[i] = 0;
        queue.push_back(i);
      }
    }
    for (size_t head = 0; head < queue.size(); ++head) {
      for (const uint32_t i : from[queue[head]]) {
        if (distances[i] != kEndless) continue;
        distances[i] = distances[queue[head]] + 1;
        queue.push_back(i);
      }
    }
  }
  return distances[state];
}

// Over derivatives, until one is known to be non-empty, in the order of A* (Hart, Nilsson, Raphael 1968) with the estimate of `need`: what
// every conjunct asks for is brought step by step, and where no step helps (the remainder of a number) short texts come before long ones.
// Everything on the way is non-empty; if there is no way, nothing that was reached is.
bool ExpressionPool::search_nonempty(ExprId start) {
  if (guess(start).has_value()) {
    exprs_[start].nonempty = Tri::kYes;
    return true;
  }
  struct Reached {
    ExprId id;
    uint32_t from;   // index of its predecessor
    uint32_t depth;  // bytes from the start
    uint8_t byte;    // the last one
  };
  std::vector<Reached> reached{{start, 0, 0, 0}};
  std::unordered_set<ExprId> seen{start};
  struct Entry {
    uint32_t cost;   // depth and need
    uint32_t index;  // in `reached`; of equals the latest comes first
    bool operator<(const Entry& other) const { return std::pair(other.cost, index) < std::pair(cost, other.index); }
  };
  std::priority_queue<Entry> queue;
  queue.push({need(start), 0});
  const size_t most_states = max_states_ / kShareOfSearch;
  const uint64_t most_work = num_derivatives_ + kTermsOfState * most_states;
  while (!queue.empty()) {
    check_size();
    if (reached.size() > most_states || num_derivatives_ > most_work) {
      throw LimitError("max_states", "it takes too long to decide whether patterns exclude each other (" +
                                         std::to_string(reached.size()) + " states)");
    }
    const uint32_t head = queue.top().index;
    queue.pop();
    const ExprId id = reached[head].id;
    const PartitionId partition = kept(id).partition;
    std::array<bool, 256> done{};
    for (uint32_t byte = 0; byte < 256; ++byte) {
      bool& is_done = done[partitions_[partition].classes[byte]];
      if (is_done || !alphabet_.contains(static_cast<uint8_t>(byte))) continue;
      is_done = true;
      const ExprId target = kept_derivative(id, static_cast<uint8_t>(byte));
      const Kind kind = exprs_[target].kind;
      bool hit = exprs_[target].nullable || exprs_[target].nonempty == Tri::kYes;
      if (!hit && kind != Kind::kIntersect && kind != Kind::kComplement && kind != Kind::kAutomaton) {
        // Not a term that needs a search of its own at the top; its parts may (they are smaller).
        hit = is_nonempty(target);
        if (!hit) continue;
      }
      if (hit) {
        ExprId next = target;
        uint8_t by = static_cast<uint8_t>(byte);
        for (uint32_t i = head;; i = reached[i].from) {
          exprs_[reached[i].id].nonempty = Tri::kYes;
          ways_.emplace(reached[i].id, Way{next, by});
          if (i == 0) break;
          next = reached[i].id;
          by = reached[i].byte;
        }
        memory_bytes_ += (reached[head].depth + 1) * kBytesOfWay;
        return true;
      }
      if (exprs_[target].nonempty != Tri::kNo && seen.insert(target).second) {
        const uint32_t depth = reached[head].depth + 1;
        reached.push_back({target, head, depth, static_cast<uint8_t>(byte)});
        queue.push({depth + need(target), static_cast<uint32_t>(reached.size() - 1)});
      }
    }
  }
  for (const Reached& r : reached) exprs_[r.id].nonempty = Tri::kNo;
  return false;
}

// A text of an intersection: one on the shortest way of its automaton, if the other parts take it. Each part is asked by itself, so
// that no state of the whole is made.
std::optional<std::string> ExpressionPool::guess(ExprId id) {
  const Expr e = exprs_[id];
  if (e.kind != Kind::kIntersect || !full_alphabet_) return std::nullopt;
  const auto first = parts_.begin() + e.a;
  const auto found = std::find_if(first, first + e.b, [&](ExprId part) { return exprs_[part].kind == Kind::kAutomaton; });
  if (found == first + e.b) return std::nullopt;
  const std::string text = some_text(*found);
  for (uint32_t i = 0; i < e.b; ++i) {
    ExprId at = parts_[e.a + i];
    for (const char byte : text) at = kept_derivative(at, static_cast<uint8_t>(byte));
    if (!exprs_[at].nullable) return std::nullopt;
  }
  return text;
}

std::string ExpressionPool::some_text(ExprId id) {
  std::string text;
  while (!exprs_[id].nullable) {
    work_.tick();
    const Expr e = exprs_[id];
    switch (e.kind) {
      case Kind::kConstant:
        return text;
      case Kind::kClass: {
        ByteSet bytes = sets_[e.a];
        bytes.intersect(alphabet_);
        return text + static_cast<char>(bytes.first());
      }
      case Kind::kConcat:
        text += some_text(e.a);
        id = e.b;
        continue;
      case Kind::kAlternate: {
        uint32_t least = kEndless + 1;
        for (uint32_t i = 0; i < e.b; ++i) {
          const ExprId part = parts_[e.a + i];
          if (!is_nonempty(part) || need(part) >= least) continue;
          least = need(part);
          id = part;
        }
        continue;
      }
      case Kind::kRepeat: {
        const std::string unit = some_text(e.a);
        for (uint32_t i = 0; i < e.b; ++i) text += unit;
        return text;
      }
      case Kind::kLiterals: {
        const std::vector<std::string>& all = *literal_sets_[e.a];
        const std::string* least = nullptr;
        for (uint32_t i = e.b; i < e.c; ++i) {
          const bool can_come =
              std::all_of(all[i].begin() + e.d, all[i].end(), [&](char c) { return alphabet_.contains(static_cast<uint8_t>(c)); });
          if (can_come && (least == nullptr || all[i].size() < least->size())) least = &all[i];
        }
        return least == nullptr ? text : text + least->substr(e.d);
      }
      case Kind::kAutomaton:
        if (full_alphabet_) {
          for (const auto& [bytes, target] : (*automata_[e.a])[e.b].transitions) {
            if (automaton_distance(e.a, target) >= automaton_distance(e.a, e.b)) continue;
            text.push_back(static_cast<char>(bytes.first()));
            id = automaton(e.a, target);
            break;
          }
          continue;
        }
        [[fallthrough]];
      case Kind::kIntersect:
      case Kind::kComplement: {
        if (!is_nonempty(id)) return text;
        if (!ways_.contains(id)) return text + guess(id).value_or("");
        const Way& way = ways_.at(id);
        text.push_back(static_cast<char>(way.byte));
        id = way.next;
        continue;
      }
    }
  }
  return text;
}

}  // namespace gd
