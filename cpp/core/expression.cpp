#include "expression.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <unordered_set>

#include "errors.h"

namespace gd {
namespace {

constexpr size_t kBytesOfEntry = 48;     // of a hash table
constexpr uint32_t kMostLiterals = 100;  // that are looked at for a simpler form

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

// Whether the form of e shows that its strings are some of those of `unit`, a spelled character or so.
bool ExpressionPool::is_part_of(ExprId e, ExprId unit) const {
  for (;; e = exprs_[e].b, unit = exprs_[unit].b) {
    if (e == unit) return true;
    const Expr& x = exprs_[e];
    const Expr& u = exprs_[unit];
    if (x.kind == Kind::kAlternate)
      return std::all_of(parts(x).begin(), parts(x).end(), [&](ExprId part) { return is_part_of(part, unit); });
    if (u.kind == Kind::kAlternate)
      return std::any_of(parts(u).begin(), parts(u).end(), [&](ExprId part) { return is_part_of(e, part); });
    if (x.kind == Kind::kClass && u.kind == Kind::kClass) return sets_[u.a].includes(sets_[x.a]);
    if (x.kind != Kind::kConcat || u.kind != Kind::kConcat || !is_part_of(x.a, u.a)) return false;
  }
}

// Whether the form of e shows that it is one of the units that the loop repeats.
bool ExpressionPool::is_unit(ExprId e, ExprId loop) const { return is_part_of(e, exprs_[loop].a); }

// Whether a text is units of the loop, one after another, as far as classes of bytes show it.
bool ExpressionPool::are_units(std::string_view text, ExprId loop) const {
  const auto begins = [&](ExprId unit, std::string_view rest) -> size_t {  // the bytes of the unit that the text begins with
    size_t length = 0;
    for (;; unit = exprs_[unit].b) {
      const Expr& u = exprs_[unit];
      const Expr& first = u.kind == Kind::kConcat ? exprs_[u.a] : u;
      if (first.kind != Kind::kClass || length == rest.size()) return 0;
      if (!sets_[first.a].contains(static_cast<uint8_t>(rest[length]))) return 0;
      ++length;
      if (u.kind != Kind::kConcat) return length;
    }
  };
  const ExprId repeated = exprs_[loop].a;
  while (!text.empty()) {
    size_t length = 0;
    if (exprs_[repeated].kind == Kind::kAlternate) {
      for (const ExprId unit : parts(exprs_[repeated])) length = std::max(length, begins(unit, text));
    } else {
      length = begins(repeated, text);
    }
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

// Whether the form of e shows that its strings are some of the loop's, x*.
bool ExpressionPool::is_within(ExprId e, ExprId loop) {
  const auto key = [&](ExprId id) { return (uint64_t{id} << 32) | loop; };
  const auto known = [&](ExprId id) -> Tri {
    if (id == loop || id == kEpsilon) return Tri::kYes;
    const auto found = within_.find(key(id));
    return found == within_.end() ? Tri::kUnknown : found->second ? Tri::kYes : Tri::kNo;
  };
  if (const Tri answer = known(e); answer != Tri::kUnknown) return answer == Tri::kYes;
  const auto part_is_within = [&](ExprId part) { return is_unit(part, loop) || is_within(part, loop); };
  bool result = true;
  std::vector<ExprId> spine;  // in a loop: it may be long
  for (; result && exprs_[e].kind == Kind::kConcat && known(e) == Tri::kUnknown; e = exprs_[e].b) {
    spine.push_back(e);
    result = part_is_within(exprs_[e].a);
  }
  if (result && (spine.empty() || known(e) == Tri::kUnknown)) {
    const Expr x = exprs_[e];
    const std::vector<ExprId> all = x.kind == Kind::kAlternate || x.kind == Kind::kIntersect
                                        ? std::vector<ExprId>(parts(x).begin(), parts(x).end())
                                        : std::vector<ExprId>{};
    result = is_unit(e, loop) || (x.kind == Kind::kRepeat && part_is_within(x.a)) ||
             (x.kind == Kind::kAlternate && std::all_of(all.begin(), all.end(), part_is_within)) ||
             (x.kind == Kind::kIntersect && std::any_of(all.begin(), all.end(), part_is_within));
    if (x.kind == Kind::kLiterals && x.c - x.b <= kMostLiterals) {
      const std::vector<std::string>& set = *literal_sets_[x.a];
      result = std::all_of(set.begin() + x.b, set.begin() + x.c,
                           [&](const std::string& text) { return are_units(std::string_view(text).substr(x.d), loop); });
    }
    within_.emplace(key(e), result);
  } else if (result) {
    result = known(e) == Tri::kYes;
  }
  for (const ExprId suffix : spine) within_.emplace(key(suffix), result);
  memory_bytes_ += (spine.size() + 1) * kBytesOfEntry;
  return result;
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

// How many of the strings of a set of literals, between two fixed texts, match; nothing for any other expression.
std::optional<uint64_t> ExpressionPool::num_literals(ExprId root) {
  const std::vector<ExprId> conjuncts = exprs_[root].kind == Kind::kIntersect
                                            ? std::vector<ExprId>(parts(exprs_[root]).begin(), parts(exprs_[root]).end())
                                            : std::vector<ExprId>{root};
  for (const ExprId conjunct : conjuncts) {
    std::string before, after;
    std::optional<Expr> literals;
    bool is_listed = true;
    for (ExprId at = conjunct; is_listed; at = exprs_[at].b) {
      const Expr& e = exprs_[at];
      const Expr& part = e.kind == Kind::kConcat ? exprs_[e.a] : e;
      if (part.kind == Kind::kLiterals && !literals) {
        literals = part;
      } else if (part.kind == Kind::kClass && sets_[part.a].count() == 1) {
        sets_[part.a].for_each([&](uint8_t byte) { (literals ? after : before).push_back(static_cast<char>(byte)); });
      } else {
        is_listed = false;
      }
      if (e.kind != Kind::kConcat) break;
    }
    if (!is_listed || !literals) continue;
    uint64_t count = 0;
    for (uint32_t i = literals->b; i < literals->c; ++i) {
      work_.tick();
      const std::string text = before + (*literal_sets_[literals->a])[i].substr(literals->d) + after;
      const auto matches = [&](ExprId e) {
        for (size_t at = 0; at < text.size() && e != kEmpty; ++at) e = step(e, static_cast<uint8_t>(text[at]));
        return nullable(e);
      };
      const auto can_come = [&](char c) { return alphabet_.contains(static_cast<uint8_t>(c)); };
      count += std::all_of(text.begin(), text.end(), can_come) &&
               std::all_of(conjuncts.begin(), conjuncts.end(), [&](ExprId e) { return e == conjunct || matches(e); });
    }
    return count;
  }
  return std::nullopt;
}

uint64_t ExpressionPool::num_strings(ExprId root) {
  // Depth-first over the states; a state met again on the present path is a cycle of live states: without end.
  if (string_counts_.size() < exprs_.size()) string_counts_.resize(exprs_.size(), 0);
  if (root < string_counts_.size() && string_counts_[root] != 0) return string_counts_[root];
  if (!is_nonempty(root)) return 0;
  if (const std::optional<uint64_t> count = num_literals(root)) {
    if (string_counts_.size() < exprs_.size()) string_counts_.resize(exprs_.size(), 0);
    return string_counts_[root] = *count;
  }
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
