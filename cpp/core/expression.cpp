#include "expression.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <functional>
#include <queue>
#include <unordered_set>

#include "errors.h"

namespace gd {
namespace {

// One search for a match: its states, and the terms that it takes derivatives of. About a second of compile time.
constexpr size_t kMaxSearch = 50000;
constexpr uint64_t kMaxSearchWork = 30'000'000;

}  // namespace

ExpressionPool::ExpressionPool(const ByteSet& alphabet, uint32_t max_states, Work& work)
    : alphabet_(alphabet), full_alphabet_(alphabet == ByteSet::all()), max_states_(max_states), work_(work) {
  Expr empty{};
  empty.kind = Kind::kConstant;
  empty.nonempty = Tri::kNo;
  intern(empty, mix(1));
  Expr epsilon{};
  epsilon.kind = Kind::kConstant;
  epsilon.a = 1;
  epsilon.nullable = true;
  epsilon.nonempty = Tri::kYes;
  intern(epsilon, mix(2));
  // kAny is .{0,}: built by hand so that its id is fixed; its class gets the next id.
  Expr any{};
  any.kind = Kind::kRepeat;
  any.a = 3;
  any.b = 0;
  any.c = kNone;
  any.nullable = true;
  any.nonempty = Tri::kYes;
  intern(any, combine(combine(combine(static_cast<uint64_t>(Kind::kRepeat), 3), 0), kNone));
  make_class(ByteSet::all());
}

ExprId ExpressionPool::intern(const Expr& e, uint64_t hash) {
  const uint32_t next = static_cast<uint32_t>(exprs_.size());
  make_room(exprs_, rows_, hashes_);
  const ExprId id = index_.find_or_add(hash, next, [&](uint32_t other) {
    const Expr& o = exprs_[other];
    if (o.kind != e.kind || o.b != e.b) return false;
    if (e.kind == Kind::kAlternate || e.kind == Kind::kIntersect) {
      return std::equal(parts_.begin() + o.a, parts_.begin() + o.a + o.b, parts_.begin() + e.a);
    }
    return o.a == e.a && o.c == e.c && o.d == e.d;
  });
  if (id == next) {
    exprs_.push_back(e);
    rows_.emplace_back();
    hashes_.emplace_back();
    memory_bytes_ += sizeof(Expr) + sizeof(rows_[0]) + sizeof(Hash128);
  }
  return id;
}

ExprId ExpressionPool::make_class(const ByteSet& set) {
  if (set.empty()) return kEmpty;
  uint64_t hash = 7;
  for (const uint64_t word : set.words) hash = combine(hash, word);
  const uint32_t next = static_cast<uint32_t>(sets_.size());
  make_room(sets_);
  const uint32_t index = set_index_.find_or_add(hash, next, [&](uint32_t other) { return sets_[other] == set; });
  if (index == next) sets_.push_back(set);
  Expr e{};
  e.kind = Kind::kClass;
  e.a = index;
  return intern(e, combine(static_cast<uint64_t>(Kind::kClass), index));
}

ExprId ExpressionPool::literal_byte(uint8_t byte) {
  ByteSet set;
  set.insert(byte);
  return make_class(set);
}

ExprId ExpressionPool::concat(ExprId first, ExprId second) {
  if (first == kEmpty || second == kEmpty) return kEmpty;
  if (first == kEpsilon) return second;
  if (second == kEpsilon) return first;
  // Right-nested always, so that the continuation of a state is a suffix of its spine.
  std::vector<ExprId> spine;
  while (exprs_[first].kind == Kind::kConcat) {
    spine.push_back(exprs_[first].a);
    first = exprs_[first].b;
  }
  spine.push_back(first);
  ExprId result = second;
  for (size_t i = spine.size(); i-- > 0;) {
    Expr e{};
    e.kind = Kind::kConcat;
    e.a = spine[i];
    e.b = result;
    e.nullable = exprs_[spine[i]].nullable && exprs_[result].nullable;
    e.positive = exprs_[spine[i]].positive && exprs_[result].positive;
    result = intern(e, combine(combine(static_cast<uint64_t>(Kind::kConcat), e.a), e.b));
  }
  return result;
}

ExprId ExpressionPool::n_ary(Kind kind, const std::vector<ExprId>& parts) {
  Expr e{};
  e.kind = kind;
  e.a = static_cast<uint32_t>(parts_.size());
  e.b = static_cast<uint32_t>(parts.size());
  uint64_t hash = static_cast<uint64_t>(kind);
  e.nullable = kind == Kind::kIntersect;
  e.positive = kind == Kind::kAlternate;
  for (const ExprId part : parts) {
    hash = combine(hash, part);
    if (kind == Kind::kAlternate) {
      e.nullable |= exprs_[part].nullable;
      e.positive &= exprs_[part].positive;
    } else {
      e.nullable &= exprs_[part].nullable;
    }
  }
  parts_.insert(parts_.end(), parts.begin(), parts.end());
  const uint32_t before = static_cast<uint32_t>(exprs_.size());
  const ExprId id = intern(e, hash);
  if (id < before) {
    parts_.resize(e.a);
  } else {
    memory_bytes_ += parts.size() * sizeof(ExprId);
  }
  return id;
}

ExprId ExpressionPool::alternate(std::vector<ExprId> list) {
  std::vector<ExprId> flat;
  ByteSet bytes;
  for (const ExprId part : list) {
    const Expr& e = exprs_[part];
    if (e.kind == Kind::kAlternate) {
      for (const ExprId p : parts(e)) {
        if (exprs_[p].kind == Kind::kClass) {
          bytes.merge(sets_[exprs_[p].a]);
        } else {
          flat.push_back(p);
        }
      }
    } else if (e.kind == Kind::kClass) {
      bytes.merge(sets_[e.a]);
    } else if (part != kEmpty) {
      flat.push_back(part);
    }
  }
  if (!bytes.empty()) flat.push_back(make_class(bytes));
  std::sort(flat.begin(), flat.end());
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  if (flat.empty()) return kEmpty;
  if (std::binary_search(flat.begin(), flat.end(), kAny)) return kAny;
  if (flat.size() == 1) return flat[0];
  if (flat.size() == 2 && flat[0] == kEpsilon && exprs_[flat[1]].nullable) return flat[1];
  return n_ary(Kind::kAlternate, flat);
}

ExprId ExpressionPool::intersect(std::vector<ExprId> list) {
  std::vector<ExprId> flat;
  for (const ExprId part : list) {
    if (part == kEmpty) return kEmpty;
    const Expr& e = exprs_[part];
    if (e.kind == Kind::kIntersect) {
      const std::span<const ExprId> inner = parts(e);
      flat.insert(flat.end(), inner.begin(), inner.end());
    } else if (part != kAny) {
      flat.push_back(part);
    }
  }
  std::sort(flat.begin(), flat.end());
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  if (flat.empty()) return kAny;
  if (flat.size() == 1) return flat[0];
  if (flat[0] == kEpsilon) {  // epsilon is in the result or nothing is
    for (const ExprId part : flat) {
      if (!exprs_[part].nullable) return kEmpty;
    }
    return kEpsilon;
  }
  return n_ary(Kind::kIntersect, flat);
}

ExprId ExpressionPool::complement(ExprId part) {
  if (part == kEmpty) return kAny;
  if (part == kAny) return kEmpty;
  if (exprs_[part].kind == Kind::kComplement) return exprs_[part].a;
  Expr e{};
  e.kind = Kind::kComplement;
  e.a = part;
  e.nullable = !exprs_[part].nullable;
  e.positive = false;
  return intern(e, combine(static_cast<uint64_t>(Kind::kComplement), part));
}

ExprId ExpressionPool::repeat(ExprId part, uint32_t minimum, uint32_t maximum) {
  if (maximum == 0) return kEpsilon;
  if (part == kEmpty) return minimum == 0 ? kEpsilon : kEmpty;
  if (part == kEpsilon) return kEpsilon;
  // subtle: with a nullable part every count below the maximum is allowed, and the derivative below relies on it.
  if (exprs_[part].nullable) minimum = 0;
  if (minimum == 1 && maximum == 1) return part;
  if (exprs_[part].kind == Kind::kRepeat && exprs_[part].b == 0 && exprs_[part].c == kNone) return part;
  Expr e{};
  e.kind = Kind::kRepeat;
  e.a = part;
  e.b = minimum;
  e.c = maximum;
  e.nullable = minimum == 0;
  e.positive = exprs_[part].positive;
  return intern(e, combine(combine(combine(static_cast<uint64_t>(Kind::kRepeat), part), minimum), maximum));
}

ExprId ExpressionPool::literals(uint32_t set, uint32_t first, uint32_t last, uint32_t depth) {
  if (first == last) return kEmpty;
  const bool ends_here = (*literal_sets_[set])[first].size() == depth;  // sorted: the shortest stands first
  if (ends_here && last - first == 1) return kEpsilon;
  Expr e{};
  e.kind = Kind::kLiterals;
  e.a = set;
  e.b = first;
  e.c = last;
  e.d = depth;
  e.nullable = ends_here;
  return intern(e, combine(combine(combine(combine(static_cast<uint64_t>(Kind::kLiterals), set), first), last), depth));
}

ExprId ExpressionPool::automaton(uint32_t index, uint32_t state) {
  const Regex::State& s = (*automata_[index])[state];
  if (s.transitions.empty()) return s.accepting ? kEpsilon : kEmpty;
  Expr e{};
  e.kind = Kind::kAutomaton;
  e.a = index;
  e.b = state;
  e.nullable = s.accepting;
  e.positive = false;  // emptiness takes a search (over a partial alphabet)
  return intern(e, combine(combine(static_cast<uint64_t>(Kind::kAutomaton), index), state));
}

std::vector<ExprId> ExpressionPool::load(const Grammar& grammar) {
  std::vector<ExprId> ids;
  ids.reserve(grammar.regexes.size());
  for (const Regex& r : grammar.regexes) {
    std::vector<ExprId> parts;
    parts.reserve(r.parts.size());
    for (const RegexId part : r.parts) parts.push_back(ids[part]);
    switch (r.kind) {
      case Regex::kByteClass:
        ids.push_back(make_class(r.bytes));
        break;
      case Regex::kConcatenation: {
        ExprId result = kEpsilon;
        for (size_t i = parts.size(); i-- > 0;) result = concat(parts[i], result);
        ids.push_back(result);
        break;
      }
      case Regex::kAlternation:
        ids.push_back(alternate(std::move(parts)));
        break;
      case Regex::kRepetition:
        ids.push_back(repeat(parts[0], r.minimum, r.maximum));
        break;
      case Regex::kIntersection:
        ids.push_back(intersect(std::move(parts)));
        break;
      case Regex::kComplement:
        ids.push_back(complement(parts[0]));
        break;
      case Regex::kLiteralSet:
        literal_sets_.push_back(&r.literals);
        ids.push_back(literals(static_cast<uint32_t>(literal_sets_.size() - 1), 0, static_cast<uint32_t>(r.literals.size()), 0));
        break;
      case Regex::kAutomaton: {
        automata_.push_back(&r.states);
        Hash128 hash;
        for (const Regex::State& state : r.states) {
          hash.feed(state.accepting ? 1 : 0);
          for (const auto& [bytes, target] : state.transitions) {
            for (const uint64_t word : bytes.words) hash.feed(word);
            hash.feed(target);
          }
        }
        automaton_hashes_.push_back(hash);
        ids.push_back(automaton(static_cast<uint32_t>(automata_.size() - 1), 0));
        break;
      }
    }
  }
  return ids;
}

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
      const ExprId first = concat(derivative(e.a, byte), e.b);
      if (!exprs_[e.a].nullable) return first;
      const ExprId second = derivative(e.b, byte);
      return first == kEmpty ? second : alternate({first, second});
    }
    case Kind::kAlternate: {
      std::vector<ExprId> list;
      for (uint32_t i = 0; i < e.b; ++i) {
        const ExprId d = derivative(parts_[e.a + i], byte);
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
        const ExprId d = derivative(parts_[e.a + i], byte);
        if (d == kEmpty) return kEmpty;
        list.push_back(d);
      }
      return intersect(std::move(list));
    }
    case Kind::kComplement:
      return complement(derivative(e.a, byte));
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
      case Kind::kIntersect:
        for (const ExprId part : parts(e)) refine(part, classes, num_classes);
        return;
      case Kind::kRepeat:
      case Kind::kComplement:
        id = e.a;
        continue;
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
  auto row = std::make_unique<Row>();
  std::array<ExprId, 600> targets;
  targets.fill(kNone);
  for (uint32_t byte = 0; byte < 256; ++byte) {
    ExprId& target = targets[classes[byte]];
    if (target == kNone) {
      target = derivative(id, static_cast<uint8_t>(byte));
      if (!is_nonempty(target)) target = kEmpty;
    }
    row->next[byte] = target;
    if (target != kEmpty) row->live.insert(static_cast<uint8_t>(byte));
  }
  memory_bytes_ += sizeof(Row);
  rows_[id] = std::move(row);
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

// Over derivatives, until one is known to be non-empty: first those in which the fewest conjuncts still ask for something, so that many
// conjuncts are met one after another and not in all orders. Everything on the way is non-empty; if there is no way, nothing
// that was reached is.
bool ExpressionPool::search_nonempty(ExprId start) {
  struct Reached {
    ExprId id;
    uint32_t from;  // index of its predecessor
  };
  std::vector<Reached> reached{{start, 0}};
  std::unordered_set<ExprId> seen{start};
  const auto wanting = [&](ExprId id) {
    const Expr& e = exprs_[id];
    if (e.kind != Kind::kIntersect) return uint32_t{1};
    uint32_t n = 0;
    for (const ExprId part : parts(e)) n += exprs_[part].nullable ? 0 : 1;
    return n;
  };
  using Entry = std::pair<uint32_t, uint32_t>;  // conjuncts that ask for something, index in `reached`
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  queue.emplace(wanting(start), 0);
  const uint64_t most_work = num_derivatives_ + kMaxSearchWork;
  while (!queue.empty()) {
    check_size();
    if (reached.size() > kMaxSearch || num_derivatives_ > most_work) {
      throw LimitError("max_states", "it takes too long to decide whether patterns exclude each other (" +
                                         std::to_string(reached.size()) + " states)");
    }
    const uint32_t head = queue.top().second;
    queue.pop();
    const ExprId id = reached[head].id;
    std::array<uint16_t, 256> classes{};
    uint32_t num_classes = 1;
    refine(id, classes, num_classes);
    std::array<bool, 600> done{};
    for (uint32_t byte = 0; byte < 256; ++byte) {
      if (done[classes[byte]] || !alphabet_.contains(static_cast<uint8_t>(byte))) continue;
      done[classes[byte]] = true;
      const ExprId target = derivative(id, static_cast<uint8_t>(byte));
      const Kind kind = exprs_[target].kind;
      bool hit = exprs_[target].nullable || exprs_[target].nonempty == Tri::kYes;
      if (!hit && kind != Kind::kIntersect && kind != Kind::kComplement && kind != Kind::kAutomaton) {
        // Not a term that needs a search of its own at the top; its parts may (they are smaller).
        hit = is_nonempty(target);
        if (!hit) continue;
      }
      if (hit) {
        for (uint32_t i = head;; i = reached[i].from) {
          exprs_[reached[i].id].nonempty = Tri::kYes;
          if (i == 0) break;
        }
        return true;
      }
      if (exprs_[target].nonempty != Tri::kNo && seen.insert(target).second) {
        reached.push_back({target, head});
        queue.emplace(wanting(target), static_cast<uint32_t>(reached.size() - 1));
      }
    }
  }
  for (const Reached& r : reached) exprs_[r.id].nonempty = Tri::kNo;
  return false;
}

const Hash128& ExpressionPool::content_hash(ExprId root) {
  // Post-order with an explicit stack: an expression may be deep.
  std::vector<ExprId> stack{root};
  while (!stack.empty()) {
    const ExprId id = stack.back();
    if (exprs_[id].has_hash) {
      stack.pop_back();
      continue;
    }
    const Expr& e = exprs_[id];
    bool ready = true;
    const auto need = [&](ExprId child) {
      if (!exprs_[child].has_hash) {
        stack.push_back(child);
        ready = false;
      }
    };
    switch (e.kind) {
      case Kind::kConcat:
        need(e.a);
        need(e.b);
        break;
      case Kind::kAlternate:
      case Kind::kIntersect:
        for (const ExprId part : parts(e)) need(part);
        break;
      case Kind::kRepeat:
      case Kind::kComplement:
        need(e.a);
        break;
      case Kind::kClass:
      case Kind::kLiterals:
      case Kind::kAutomaton:
      case Kind::kConstant:
        break;
    }
    if (!ready) continue;
    stack.pop_back();
    Hash128 hash;
    hash.feed(static_cast<uint64_t>(e.kind));
    switch (e.kind) {
      case Kind::kConstant:
        hash.feed(e.a);
        break;
      case Kind::kClass:
        for (const uint64_t word : sets_[e.a].words) hash.feed(word);
        break;
      case Kind::kConcat:
        hash.feed(hashes_[e.a]);
        hash.feed(hashes_[e.b]);
        break;
      case Kind::kAlternate:
      case Kind::kIntersect: {
        // Ids order the parts differently in each pool, so the hash must not depend on the order.
        Hash128 sum;
        for (const ExprId part : parts(e)) {
          sum.high += mix(hashes_[part].high ^ 0xa5a5a5a5a5a5a5a5ULL);
          sum.low += mix(hashes_[part].low ^ 0x5a5a5a5a5a5a5a5aULL);
        }
        hash.feed(e.b);
        hash.feed(sum);
        break;
      }
      case Kind::kRepeat:
        hash.feed(hashes_[e.a]);
        hash.feed(e.b);
        hash.feed(e.c);
        break;
      case Kind::kComplement:
        hash.feed(hashes_[e.a]);
        break;
      case Kind::kAutomaton:
        hash.feed(automaton_hashes_[e.a]);
        hash.feed(e.b);
        break;
      case Kind::kLiterals: {
        const std::vector<std::string>& set = *literal_sets_[e.a];
        hash.feed(e.c - e.b);
        for (uint32_t i = e.b; i < e.c; ++i) hash.feed_bytes(set[i].data() + e.d, set[i].size() - e.d);
        break;
      }
    }
    hashes_[id] = hash;
    exprs_[id].has_hash = true;
  }
  return hashes_[root];
}

uint64_t ExpressionPool::num_strings(ExprId root) {
  // Depth-first over the states; a state met again on the present path is a cycle of live states: without end.
  if (string_counts_.size() < exprs_.size()) string_counts_.resize(exprs_.size(), 0);
  if (root < string_counts_.size() && string_counts_[root] != 0) return string_counts_[root];
  if (!is_nonempty(root)) return 0;
  struct Visit {
    ExprId id;
    uint32_t next_byte;
    uint64_t sum;
  };
  std::vector<Visit> stack{{root, 0, nullable(root) ? uint64_t{1} : 0}};
  std::unordered_set<ExprId> on_path{root};
  bool endless = false;
  while (!stack.empty() && !endless) {
    Visit& visit = stack.back();
    const ExprId* row = transitions(visit.id);
    bool descended = false;
    while (visit.next_byte < 256) {
      const uint32_t byte = visit.next_byte++;
      const ExprId target = row[byte];
      if (target == kEmpty || !alphabet_.contains(static_cast<uint8_t>(byte))) continue;
      if (target < string_counts_.size() && string_counts_[target] != 0) {
        visit.sum = std::min(kManyStrings, visit.sum + string_counts_[target]);
        if (visit.sum >= kManyStrings) endless = true;
      } else if (on_path.contains(target) || stack.size() > 100000) {
        endless = true;
      } else {
        on_path.insert(target);
        stack.push_back({target, 0, nullable(target) ? uint64_t{1} : 0});  // `visit` dangles from here on
        descended = true;
      }
      if (endless || descended) break;
    }
    if (endless || descended) continue;
    const Visit finished = stack.back();
    stack.pop_back();
    on_path.erase(finished.id);
    if (string_counts_.size() < exprs_.size()) string_counts_.resize(exprs_.size(), 0);
    string_counts_[finished.id] = finished.sum;
    if (!stack.empty()) stack.back().sum = std::min(kManyStrings, stack.back().sum + finished.sum);
  }
  if (endless) {  // every state on the path reaches the cycle
    if (string_counts_.size() < exprs_.size()) string_counts_.resize(exprs_.size(), 0);
    for (const Visit& visit : stack) string_counts_[visit.id] = kManyStrings;
    return kManyStrings;
  }
  return string_counts_[root];
}

bool ExpressionPool::ends_with(ExprId e, ExprId tail) const {
  while (e != tail) {
    if (exprs_[e].kind != Kind::kConcat) return false;
    e = exprs_[e].b;
  }
  return true;
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
