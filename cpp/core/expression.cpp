#include "expression.h"

#include <algorithm>

#include "errors.h"

namespace gd {

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
    rows_.push_back(nullptr);
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
  // x* takes in all that is made of x.
  for (size_t i = 0; i < flat.size() && flat.size() > 1; ++i) {
    if (!is_loop(flat[i])) continue;
    const ExprId loop = flat[i];
    std::erase_if(flat, [&](ExprId part) { return part != loop && is_within(part, loop); });
    i = static_cast<size_t>(std::lower_bound(flat.begin(), flat.end(), loop) - flat.begin());
  }
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
  for (const ExprId part : flat) {  // x and not x; what is made of x, and not x*
    if (exprs_[part].kind != Kind::kComplement) continue;
    const ExprId excluded = exprs_[part].a;
    if (std::binary_search(flat.begin(), flat.end(), excluded)) return kEmpty;
    if (!is_loop(excluded)) continue;
    if (std::any_of(flat.begin(), flat.end(), [&](ExprId other) { return is_within(other, excluded); })) return kEmpty;
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
  std::vector<bool> is_used(grammar.regexes.size(), false);
  for (const Node& node : grammar.nodes) {
    if (node.kind == Node::kTerminal) is_used[node.regex] = true;
    for (const RegexId pattern : node.patterns) is_used[pattern] = true;
  }
  for (size_t i = grammar.regexes.size(); i-- > 0;) {  // parts have lower ids
    if (!is_used[i]) continue;
    for (const RegexId part : grammar.parts(grammar.regexes[i])) is_used[part] = true;
  }
  for (const Regex& r : grammar.regexes) {
    if (!is_used[ids.size()]) {
      ids.push_back(kEmpty);
      continue;
    }
    std::vector<ExprId> parts;
    parts.reserve(r.num_parts);
    for (const RegexId part : grammar.parts(r)) parts.push_back(ids[part]);
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

}  // namespace gd
