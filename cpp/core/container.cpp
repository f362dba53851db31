#include "container.h"

#include <algorithm>

#include "errors.h"

namespace gd {

// ---- texts ----------------------------------------------------------------------------------------------------------

TextPool::TextPool() : texts_{{kEmptyText, 0, 0}, {kFresh, 0, 0}} {}

TextId TextPool::append(TextId text, uint8_t byte) {
  if (text == kFresh) return kFresh;
  const uint32_t next = static_cast<uint32_t>(texts_.size());
  const TextId id = index_.find_or_add(combine(combine(11, text), byte), next,
                                       [&](uint32_t other) { return texts_[other].parent == text && texts_[other].byte == byte; });
  if (id == next) texts_.push_back({text, texts_[text].length + 1, byte});
  return id;
}

bool TextPool::is_prefix(TextId prefix, TextId text) const {
  if (prefix == kFresh || text == kFresh) return false;
  while (texts_[text].length > texts_[prefix].length) text = texts_[text].parent;
  return text == prefix;
}

bool TextPool::is_within(TextId text, const ByteSet& alphabet) const {
  for (; texts_[text].length > 0; text = texts_[text].parent) {
    if (!alphabet.contains(texts_[text].byte)) return false;
  }
  return true;
}

std::string TextPool::suffix(TextId text, uint32_t from) const {
  std::string result;
  for (; texts_[text].length > from; text = texts_[text].parent) result.push_back(static_cast<char>(texts_[text].byte));
  std::reverse(result.begin(), result.end());
  return result;
}

// ---- registers ------------------------------------------------------------------------------------------------------

Containers::Containers(const Grammar& grammar, ExpressionPool& expressions, const std::vector<ExprId>& regexes,
                       const ByteSet& alphabet, Limits limits)
    : grammar_(grammar),
      expressions_(expressions),
      regexes_(regexes),
      alphabet_(alphabet),
      full_alphabet_(alphabet == ByteSet::all()),
      limits_(limits),
      live_(grammar.nodes.size(), false),
      infos_(grammar.nodes.size()) {
  intern_seen({});
  used_index_.find_or_add(combine(13, 0), 0, [](uint32_t) { return false; });
  used_sets_.emplace_back();
}

Containers::Info& Containers::info(NodeId id) {
  Info& i = infos_[id];
  if (i.ready) return i;
  const Node& n = grammar_.nodes[id];
  const auto spellable = [&](std::string_view text) {
    return full_alphabet_ ||
           std::all_of(text.begin(), text.end(), [&](char c) { return alphabet_.contains(static_cast<uint8_t>(c)); });
  };
  // With a punctuation byte missing from the vocabulary, a container is limited to what needs no such byte.
  i.max_count = n.max_count;
  if (!spellable(grammar_.item_separator)) i.max_count = std::min(i.max_count, 1U);
  if (n.kind == Node::kMembers && !(spellable("\"") && spellable(grammar_.key_separator))) i.max_count = 0;
  if (n.kind == Node::kMembers) {
    const uint32_t num_names = static_cast<uint32_t>(n.names.size());
    i.sorted_to_class.resize(num_names);
    for (uint32_t c = 0; c < num_names; ++c) i.sorted_to_class[c] = c;
    std::sort(i.sorted_to_class.begin(), i.sorted_to_class.end(), [&](ClassId a, ClassId b) { return n.names[a] < n.names[b]; });
    i.sorted_names.reserve(num_names);
    for (const ClassId c : i.sorted_to_class) i.sorted_names.push_back(n.names[c]);
    i.spellable.resize(num_names);
    for (uint32_t c = 0; c < num_names; ++c) {
      i.spellable[c] = spellable(n.names[c]);
      if (n.ranks[c] != kNone) i.num_ranks = std::max(i.num_ranks, n.ranks[c] + 1);
    }
    i.by_rank.assign(i.num_ranks, kNone);
    for (uint32_t c = 0; c < num_names; ++c) {
      if (n.ranks[c] != kNone) i.by_rank[n.ranks[c]] = c;
    }
    i.is_required.assign(num_names, false);
    for (const ClassId c : n.required) {
      i.is_required[c] = true;
      if (n.ranks[c] == kNone) i.required_unranked.push_back(c);
    }
    i.required_below.assign(i.num_ranks + 1, 0);
    for (uint32_t r = 0; r < i.num_ranks; ++r) {
      i.required_below[r + 1] = i.required_below[r] + (i.by_rank[r] != kNone && i.is_required[i.by_rank[r]] ? 1 : 0);
    }
    i.counts = n.min_count > 0 || i.max_count != kNone;
    if (i.max_count == kNone) i.count_stop = n.min_count;
  } else {
    i.counts = true;
    if (i.max_count == kNone) i.count_stop = std::max(n.min_count, n.prefix);
  }
  // The formula of the fresh container.
  std::vector<FormulaId> built;
  for (const FormulaNode& f : n.formula) {
    std::vector<FormulaId> parts;
    for (const uint32_t part : f.parts) parts.push_back(built[part]);
    switch (f.kind) {
      case FormulaNode::kFalse:
        built.push_back(FormulaPool::kFalse);
        break;
      case FormulaNode::kTrue:
        built.push_back(FormulaPool::kTrue);
        break;
      case FormulaNode::kClaim: {
        const Claim& c = n.claims[f.claim];
        const bool met = (c.kind == Claim::kMember && c.classes.empty()) || (c.kind == Claim::kMost && c.classes.empty()) ||
                         ((c.kind == Claim::kSome || c.kind == Claim::kCountMin) && c.count == 0);
        const bool failed = c.kind == Claim::kSome && c.count > 0 && c.classes.empty();
        built.push_back(met ? FormulaPool::kTrue : failed ? FormulaPool::kFalse : formulas_.claim(f.claim, c.count));
        break;
      }
      case FormulaNode::kAnd:
        built.push_back(formulas_.all_of(std::move(parts)));
        break;
      case FormulaNode::kOr:
        built.push_back(formulas_.any_of(std::move(parts)));
        break;
    }
  }
  i.formula = built.empty() ? FormulaPool::kTrue : built.back();
  i.ready = true;
  return i;
}

RegisterId Containers::intern(const Register& r) {
  uint64_t hash = combine(combine(17, r.node), r.position);
  hash = combine(combine(hash, r.count), r.seen);
  hash = combine(combine(hash, r.used), r.formula);
  const uint32_t next = static_cast<uint32_t>(registers_.size());
  const RegisterId id = register_index_.find_or_add(hash, next, [&](uint32_t other) { return registers_[other] == r; });
  if (id == next) {
    registers_.push_back(r);
    satisfiable_.push_back(0);
    menus_.emplace_back();
  }
  return id;
}

uint32_t Containers::intern_seen(std::vector<uint64_t> bits) {
  uint64_t hash = 19;
  for (const uint64_t word : bits) hash = combine(hash, word);
  const uint32_t next = static_cast<uint32_t>(seen_sets_.size());
  const uint32_t id = seen_index_.find_or_add(hash, next, [&](uint32_t other) { return seen_sets_[other] == bits; });
  if (id == next) seen_sets_.push_back(std::move(bits));
  return id;
}

bool Containers::is_seen(const Register& r, ClassId name) const {
  const std::vector<uint64_t>& bits = seen_sets_[r.seen];
  return name / 64 < bits.size() && ((bits[name / 64] >> (name % 64)) & 1) != 0;
}

bool Containers::is_open(const Register& r, ClassId cls) {
  const Node& n = grammar_.nodes[r.node];
  if (n.kind == Node::kElements) return cls == n.prefix || cls >= r.count;
  if (cls >= n.names.size()) return true;
  return n.ranks[cls] == kNone ? !is_seen(r, cls) : n.ranks[cls] >= r.position;
}

bool Containers::pick_is_live(const Node& n, ClassId cls, const Pick& pick) {
  if (!live_[pick.node]) return false;
  if (n.kind != Node::kMembers || full_alphabet_ || cls >= n.names.size()) return true;
  return infos_[static_cast<NodeId>(&n - grammar_.nodes.data())].spellable[cls];
}

const Pick* Containers::find_pick(const Node& n, ClassId cls, const std::vector<uint32_t>& claims) {
  for (const Pick& pick : n.values[cls]) {
    if (pick.claims == claims) return pick_is_live(n, cls, pick) ? &pick : nullptr;
  }
  return nullptr;
}

// The one place where a count stops. Behind `count_stop` there is no maximum, the minimum is met, and every later item has the
// same class, so nothing depends on the count any more: the states are equal, not clamped together.
uint32_t Containers::next_count(const Info& i, const Node&, uint32_t count) const {
  if (!i.counts || count == i.count_stop) return count;
  return count + 1;
}

RegisterId Containers::initial(NodeId node) {
  Register r;
  r.node = node;
  r.formula = info(node).formula;
  return intern(r);
}

Register Containers::advance(const Register& r, ClassId cls, const std::vector<uint32_t>& claims) {
  const Node& n = grammar_.nodes[r.node];
  const Info& i = info(r.node);
  Register next = r;
  next.count = next_count(i, n, r.count);
  if (n.kind == Node::kMembers) {
    if (cls < n.names.size() && n.ranks[cls] != kNone) {
      next.position = n.ranks[cls] + 1;
    } else {
      next.position = i.num_ranks;
      if (cls < n.names.size()) {
        std::vector<uint64_t> bits = seen_sets_[r.seen];
        if (bits.size() <= cls / 64) bits.resize(cls / 64 + 1);
        bits[cls / 64] |= uint64_t{1} << (cls % 64);
        next.seen = intern_seen(std::move(bits));
      }
    }
  }
  if (r.formula == FormulaPool::kTrue) return next;
  const auto covers = [&](const Claim& c) { return std::binary_search(c.classes.begin(), c.classes.end(), cls); };
  const auto any_open = [&](const Claim& c) {
    return std::any_of(c.classes.begin(), c.classes.end(), [&](ClassId k) { return is_open(next, k); });
  };
  next.formula = formulas_.map(r.formula, [&](const FormulaPool::Item& item) -> FormulaId {
    const Claim& c = n.claims[item.claim];
    const bool picked = std::binary_search(claims.begin(), claims.end(), item.claim);
    const auto left = [&](uint32_t count) { return formulas_.claim(item.claim, count); };
    switch (c.kind) {
      case Claim::kMember:
        if (covers(c) && !picked) return FormulaPool::kFalse;
        return any_open(c) ? left(0) : FormulaPool::kTrue;
      case Claim::kSome: {
        const uint32_t count = covers(c) && picked ? item.count - 1 : item.count;
        if (count == 0) return FormulaPool::kTrue;
        return any_open(c) ? left(count) : FormulaPool::kFalse;
      }
      case Claim::kMost: {
        if (covers(c) && !picked) {
          if (item.count == 0) return FormulaPool::kFalse;
          return any_open(c) ? left(item.count - 1) : FormulaPool::kTrue;
        }
        return any_open(c) ? left(item.count) : FormulaPool::kTrue;
      }
      case Claim::kHas:
        if (c.classes[0] == cls) return FormulaPool::kTrue;
        return is_open(next, c.classes[0]) ? left(0) : FormulaPool::kFalse;
      case Claim::kLacks:
        if (c.classes[0] == cls) return FormulaPool::kFalse;
        return is_open(next, c.classes[0]) ? left(0) : FormulaPool::kTrue;
      case Claim::kCountMin:
        return item.count <= 1 ? FormulaPool::kTrue : left(item.count - 1);
      case Claim::kCountMax:
        return item.count == 0 ? FormulaPool::kFalse : left(item.count - 1);
    }
    return FormulaPool::kFalse;
  });
  return next;
}

bool Containers::order_allows(const Register& r, ClassId cls) {
  const Node& n = grammar_.nodes[r.node];
  const Info& i = info(r.node);
  const bool named = cls < n.names.size();
  if (named && !is_open(r, cls)) return false;
  const uint32_t up_to = named && n.ranks[cls] != kNone ? n.ranks[cls] : i.num_ranks;
  return i.required_below[up_to] == i.required_below[std::min(r.position, i.num_ranks)];
}

bool Containers::can_close(RegisterId id) {
  const Register r = registers_[id];
  const Node& n = grammar_.nodes[r.node];
  const Info& i = info(r.node);
  if (i.counts && r.count < n.min_count) return false;
  if (n.kind == Node::kMembers) {
    if (i.required_below[i.num_ranks] != i.required_below[std::min(r.position, i.num_ranks)]) return false;
    for (const ClassId c : i.required_unranked) {
      if (!is_seen(r, c)) return false;
    }
  }
  if (r.formula == FormulaPool::kTrue) return true;
  const FormulaId at_end = formulas_.map(r.formula, [&](const FormulaPool::Item& item) -> FormulaId {
    switch (n.claims[item.claim].kind) {
      case Claim::kMember:
      case Claim::kMost:
      case Claim::kLacks:
      case Claim::kCountMax:
        return FormulaPool::kTrue;
      case Claim::kSome:
      case Claim::kHas:
      case Claim::kCountMin:
        return FormulaPool::kFalse;
    }
    return FormulaPool::kFalse;
  });
  return at_end == FormulaPool::kTrue;
}

ClassId Containers::item_class(RegisterId id) const {
  const Register& r = registers_[id];
  return std::min(r.count, grammar_.nodes[r.node].prefix);
}

const std::vector<Containers::Entry>& Containers::entries(RegisterId id, ClassId cls) {
  const uint64_t key = (uint64_t{id} << 32) | cls;
  const auto found = entries_.find(key);
  if (found != entries_.end()) return found->second;
  std::vector<Entry> result;
  const Register r = registers_[id];
  const Node& n = grammar_.nodes[r.node];
  const Info& i = info(r.node);
  if ((i.max_count == kNone || r.count < i.max_count) && (n.kind == Node::kElements || order_allows(r, cls))) {
    FormulaPool::ClaimSets sets{{}};
    if (r.formula != FormulaPool::kTrue) {
      sets = formulas_.project(
          r.formula,
          [&](const FormulaPool::Item& item) {
            const Claim& c = n.claims[item.claim];
            if (c.kind > Claim::kMost || !std::binary_search(c.classes.begin(), c.classes.end(), cls)) {
              return FormulaPool::Relevance::kNone;
            }
            return c.kind == Claim::kMember ? FormulaPool::Relevance::kMust : FormulaPool::Relevance::kMay;
          },
          limits_.max_picks);
    }
    for (const std::vector<uint32_t>& claims : sets) {
      const Pick* pick = find_pick(n, cls, claims);
      if (pick == nullptr) continue;
      const Register next = advance(r, cls, claims);
      if (next.formula == FormulaPool::kFalse) continue;
      const RegisterId next_id = intern(next);
      if (satisfiable(next_id)) result.push_back({next_id, pick->node});
    }
  }
  return entries_.emplace(key, std::move(result)).first->second;
}

uint32_t Containers::add_used(uint32_t set, TextId text) {
  std::vector<TextId> used = used_sets_[set];
  const auto at = std::lower_bound(used.begin(), used.end(), text);
  if (at == used.end() || *at != text) used.insert(at, text);
  uint64_t hash = combine(13, used.size());
  for (const TextId t : used) hash = combine(hash, t);
  const uint32_t next = static_cast<uint32_t>(used_sets_.size());
  const uint32_t id = used_index_.find_or_add(hash, next, [&](uint32_t other) { return used_sets_[other] == used; });
  if (id == next) used_sets_.push_back(std::move(used));
  return id;
}

RegisterId Containers::with_used(RegisterId id, TextId text) {
  Register r = registers_[id];
  r.used = add_used(r.used, text);
  const RegisterId result = intern(r);
  return satisfiable(result) ? result : kNone;
}

const Containers::Menu& Containers::menu(RegisterId id) {
  if (menus_[id] != nullptr) return *menus_[id];
  auto menu = std::make_unique<Menu>();
  const Register r = registers_[id];
  const Node& n = grammar_.nodes[r.node];
  const Info& i = info(r.node);
  const uint32_t num_names = static_cast<uint32_t>(n.names.size());
  menu->names.assign((num_names + 63) / 64, 0);
  const bool room = i.max_count == kNone || r.count < i.max_count;
  const std::vector<uint32_t> nothing;
  for (uint32_t s = 0; room && s < num_names; ++s) {
    const ClassId cls = i.sorted_to_class[s];
    bool allowed = false;
    if (r.formula != FormulaPool::kTrue) {
      allowed = !entries(id, cls).empty();
    } else if (order_allows(r, cls) && find_pick(n, cls, nothing) != nullptr) {
      allowed = !i.counts || satisfiable(advance(r, cls, nothing));
    }
    if (allowed) {
      menu->names[s / 64] |= uint64_t{1} << (s % 64);
      menu->empty = false;
    }
  }
  for (uint32_t p = 0; room && p < n.patterns.size(); ++p) {
    if (entries(id, num_names + p).empty() || pattern_capacity(r, p) == 0) continue;
    menu->patterns.push_back(p);
    menu->spare.push_back(can_spare(id, p));
    if (menu->spare.back()) menu->empty = false;
  }
  menus_[id] = std::move(menu);
  return *menus_[id];
}

// ---- can it still be finished? --------------------------------------------------------------------------------------

bool Containers::is_finite(const Node& n, uint32_t pattern) {
  return expressions_.num_strings(regexes_[n.patterns[pattern]]) < ExpressionPool::kManyStrings;
}

// Whether the object can still be finished behind an entry that takes one of the pattern's keys away.
bool Containers::can_spare(RegisterId id, uint32_t pattern) {
  const Node& n = node(id);
  const std::vector<Entry> ways = entries(id, static_cast<uint32_t>(n.names.size()) + pattern);
  if (!is_finite(n, pattern)) return !ways.empty();
  return std::any_of(ways.begin(), ways.end(), [&](const Entry& entry) {
    Register behind = registers_[entry.next];
    behind.used = add_used(behind.used, TextPool::unread(pattern));
    return satisfiable(behind);
  });
}

// How many more keys of a pattern there are: strings of its language that are neither a name nor used.
uint64_t Containers::pattern_capacity(const Register& r, uint32_t pattern) {
  const Node& n = grammar_.nodes[r.node];
  const ExprId language = regexes_[n.patterns[pattern]];
  const uint64_t total = expressions_.num_strings(language);
  if (total >= ExpressionPool::kManyStrings) return total;
  const auto matches = [&](std::string_view text) {
    ExprId e = language;
    for (const char c : text) {
      if (!alphabet_.contains(static_cast<uint8_t>(c))) return false;  // not counted in `total`
      e = expressions_.step(e, static_cast<uint8_t>(c));
    }
    return expressions_.nullable(e);
  };
  uint64_t taken = 0;
  for (const std::string& name : n.names) taken += matches(name) ? 1 : 0;
  for (const TextId text : used_sets_[r.used]) {
    if (text == TextPool::kFresh) continue;
    if (text >= texts_.size()) {
      taken += text == TextPool::unread(pattern) ? 1 : 0;
    } else {
      taken += matches(texts_.suffix(text, 0)) ? 1 : 0;
    }
  }
  return total - std::min(total, taken);
}

bool Containers::could_finish(NodeId container) {
  info(container);
  Register r;
  r.node = container;
  r.formula = info(container).formula;
  return satisfiable(r);
}

bool Containers::satisfiable(RegisterId id) {
  uint8_t& known = satisfiable_[id];
  if (known != 0) return known == 2;
  const Register r = registers_[id];
  const bool result = satisfiable(r);
  if (frozen_) satisfiable_[id] = result ? 2 : 1;
  return result;
}

void Containers::spend(size_t& steps) const {
  if (++steps > limits_.max_search) {
    throw LimitError("max_formula", "deciding whether an object or array can still be finished takes more than " +
                                        std::to_string(limits_.max_search) + " steps; simplify its alternatives");
  }
}

// What a way to finish has to bring: the claims of one implicant of the formula, and the container's own bounds.
struct Containers::Goal {
  std::vector<uint32_t> members;                     // kMember claims that are relied on
  std::vector<std::pair<uint32_t, uint32_t>> somes;  // claim, how many are missing
  std::vector<std::pair<uint32_t, uint32_t>> mosts;  // claim, how many exceptions are left
  std::vector<ClassId> has;                          // names that must still come
  std::vector<ClassId> lacks;
  uint64_t minimum = 0;  // entries that must still come
  uint64_t maximum = 0;  // entries that may still come

  bool is_short() const {
    return std::any_of(somes.begin(), somes.end(), [](const auto& some) { return some.second > 0; });
  }
};

bool Containers::satisfiable(const Register& r) {
  if (r.formula == FormulaPool::kFalse) return false;
  const Node& n = grammar_.nodes[r.node];
  const Info& i = info(r.node);
  Goal goal;
  goal.minimum = n.min_count > r.count && i.counts ? n.min_count - r.count : 0;
  goal.maximum = i.max_count == kNone ? kNone : i.max_count - std::min(r.count, i.max_count);
  if (n.kind == Node::kMembers) {
    for (uint32_t rank = r.position; rank < i.num_ranks; ++rank) {
      if (i.required_below[i.num_ranks] == i.required_below[rank]) break;
      const ClassId c = i.by_rank[rank];
      if (c != kNone && i.is_required[c]) goal.has.push_back(c);
    }
    for (const ClassId c : i.required_unranked) {
      if (!is_seen(r, c)) goal.has.push_back(c);
    }
  }
  size_t steps = 0;
  return search(r, {r.formula}, std::move(goal), steps);
}

// What the facts of `goal` say of a formula: kYes it holds already, kNo it can't hold any more, kOpen neither.
Containers::Verdict Containers::judge(const Register& r, FormulaId f, const Goal& goal) {
  const FormulaPool::Item& item = formulas_[f];
  switch (item.kind) {
    case FormulaNode::kFalse:
      return Verdict::kNo;
    case FormulaNode::kTrue:
      return Verdict::kYes;
    case FormulaNode::kAnd:
    case FormulaNode::kOr: {
      const Verdict absorbing = item.kind == FormulaNode::kAnd ? Verdict::kNo : Verdict::kYes;
      Verdict result = item.kind == FormulaNode::kAnd ? Verdict::kYes : Verdict::kNo;
      for (const FormulaId part : item.parts) {
        const Verdict verdict = judge(r, part, goal);
        if (verdict == absorbing) return absorbing;
        if (verdict == Verdict::kOpen) result = Verdict::kOpen;
      }
      return result;
    }
    case FormulaNode::kClaim:
      break;
  }
  const Claim& c = grammar_.nodes[r.node].claims[item.claim];
  const auto contains = [](const std::vector<uint32_t>& list, uint32_t value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  switch (c.kind) {
    case Claim::kMember:
      return contains(goal.members, item.claim) ? Verdict::kYes : Verdict::kOpen;
    case Claim::kHas:
      if (contains(goal.has, c.classes[0])) return Verdict::kYes;
      return contains(goal.lacks, c.classes[0]) || !is_open(r, c.classes[0]) ? Verdict::kNo : Verdict::kOpen;
    case Claim::kLacks:
      if (contains(goal.lacks, c.classes[0]) || !is_open(r, c.classes[0])) return Verdict::kYes;
      return contains(goal.has, c.classes[0]) ? Verdict::kNo : Verdict::kOpen;
    default:
      return Verdict::kOpen;
  }
}

// Adds a claim to the facts; false if that contradicts them.
bool Containers::assume(const Register& r, const FormulaPool::Item& item, Goal& goal) {
  const Node& n = grammar_.nodes[r.node];
  const Claim& c = n.claims[item.claim];
  switch (c.kind) {
    case Claim::kMember:
      goal.members.push_back(item.claim);
      return std::all_of(goal.has.begin(), goal.has.end(), [&](ClassId cls) {
        return !std::binary_search(c.classes.begin(), c.classes.end(), cls) || is_readable(n, cls, goal.members);
      });
    case Claim::kSome:
      goal.somes.emplace_back(item.claim, item.count);
      return true;
    case Claim::kMost:
      goal.mosts.emplace_back(item.claim, item.count);
      return true;
    case Claim::kHas:
      goal.has.push_back(c.classes[0]);
      return goal.has.size() <= goal.maximum && is_readable(n, c.classes[0], goal.members);
    case Claim::kLacks:
      goal.lacks.push_back(c.classes[0]);
      return true;
    case Claim::kCountMin:
      goal.minimum = std::max(goal.minimum, uint64_t{item.count});
      return goal.minimum <= goal.maximum;
    case Claim::kCountMax:
      goal.maximum = std::min(goal.maximum, uint64_t{item.count});
      return goal.minimum <= goal.maximum && goal.has.size() <= goal.maximum;
  }
  return false;
}

// Looks for an implicant of the formulas that can be realised; the first one found is enough. As in the DPLL procedure, what
// is known settles what it can before a disjunction with several open branches is split, the one with the fewest first.
bool Containers::search(const Register& r, std::vector<FormulaId> pending, Goal goal, size_t& steps) {
  for (;;) {
    std::vector<FormulaId> open;
    bool changed = false;
    for (size_t i = 0; i < pending.size(); ++i) {  // grows while it is walked
      spend(steps);
      const FormulaId f = pending[i];
      const Verdict verdict = judge(r, f, goal);
      if (verdict == Verdict::kNo) return false;
      if (verdict == Verdict::kYes) continue;
      const FormulaPool::Item& item = formulas_[f];
      if (item.kind == FormulaNode::kClaim) {
        if (!assume(r, item, goal)) return false;
        changed = true;
      } else if (item.kind == FormulaNode::kAnd) {
        pending.insert(pending.end(), item.parts.begin(), item.parts.end());
      } else {
        uint32_t num_open = 0;
        FormulaId last = FormulaPool::kFalse;
        for (const FormulaId part : item.parts) {
          if (judge(r, part, goal) == Verdict::kNo) continue;
          ++num_open;
          last = part;
        }
        if (num_open == 1) {
          pending.push_back(last);
        } else {
          open.push_back(f);
        }
      }
    }
    pending = std::move(open);
    if (!changed) break;
  }
  if (pending.empty()) return realizable(r, goal, steps);
  const auto branches = [&](FormulaId f) {
    std::vector<FormulaId> result;
    for (const FormulaId part : formulas_[f].parts) {
      if (judge(r, part, goal) != Verdict::kNo) result.push_back(part);
    }
    return result;
  };
  size_t best = 0;
  std::vector<FormulaId> fewest = branches(pending[0]);
  for (size_t i = 1; i < pending.size(); ++i) {
    std::vector<FormulaId> candidates = branches(pending[i]);
    if (candidates.size() >= fewest.size()) continue;
    best = i;
    fewest = std::move(candidates);
  }
  pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(best));
  for (const FormulaId branch : fewest) {
    std::vector<FormulaId> next = pending;
    next.push_back(branch);
    if (search(r, std::move(next), goal, steps)) return true;
  }
  return false;
}

bool Containers::realizable(const Register& r, Goal& goal, size_t& steps) {
  if (goal.minimum > goal.maximum) return false;
  const Node& n = grammar_.nodes[r.node];
  if (n.kind == Node::kElements) return fill_array(r, goal, r.count, 0, steps);
  return realizable_object(r, goal, steps);
}

namespace {

// Whether `pick` holds every claim of `claims` that covers class `cls`.
template <class Claims>
bool holds(const Node& n, const Pick& pick, ClassId cls, const Claims& claims) {
  return std::all_of(claims.begin(), claims.end(), [&](uint32_t claim) {
    const std::vector<ClassId>& classes = n.claims[claim].classes;
    return !std::binary_search(classes.begin(), classes.end(), cls) ||
           std::binary_search(pick.claims.begin(), pick.claims.end(), claim);
  });
}

bool covers(const Node& n, uint32_t claim, ClassId cls) {
  const std::vector<ClassId>& classes = n.claims[claim].classes;
  return std::binary_search(classes.begin(), classes.end(), cls);
}

// Books one entry read by `pick`: false if a "most" claim has no exception left. `goal` is changed either way.
template <class Goal>
bool book(const Node& n, const Pick& pick, ClassId cls, Goal& goal) {
  for (auto& [claim, missing] : goal.somes) {
    if (missing > 0 && covers(n, claim, cls) && std::binary_search(pick.claims.begin(), pick.claims.end(), claim)) --missing;
  }
  for (auto& [claim, exceptions] : goal.mosts) {
    if (!covers(n, claim, cls) || std::binary_search(pick.claims.begin(), pick.claims.end(), claim)) continue;
    if (exceptions == 0) return false;
    --exceptions;
  }
  if (goal.minimum > 0) --goal.minimum;
  if (goal.maximum != kNone) --goal.maximum;
  return true;
}

// Whether `pick` costs no exception of any "most" claim.
template <class Goal>
bool is_free(const Node& n, const Pick& pick, ClassId cls, const Goal& goal) {
  return std::all_of(goal.mosts.begin(), goal.mosts.end(), [&](const auto& most) {
    return !covers(n, most.first, cls) || std::binary_search(pick.claims.begin(), pick.claims.end(), most.first);
  });
}

}  // namespace

// Whether an entry of the class can be read with a pick that holds all of `members` that speak of it.
bool Containers::is_readable(const Node& n, ClassId cls, const std::vector<uint32_t>& members) {
  return std::any_of(n.values[cls].begin(), n.values[cls].end(),
                     [&](const Pick& pick) { return pick_is_live(n, cls, pick) && holds(n, pick, cls, members); });
}

bool Containers::realizable_object(const Register& r, Goal& goal, size_t& steps) {
  const Node& n = grammar_.nodes[r.node];
  if (goal.has.size() > goal.maximum) return false;
  const auto readable = [&](ClassId cls) { return is_readable(n, cls, goal.members); };
  for (const ClassId cls : goal.has) {
    if (!readable(cls)) return false;
  }
  if (goal.somes.empty() && goal.mosts.empty()) {  // only a number of entries to reach
    uint64_t reachable = goal.has.size();
    for (ClassId cls = 0; cls < n.num_classes() && reachable < goal.minimum; ++cls) {
      spend(steps);
      if (cls >= n.names.size()) {
        if (readable(cls)) reachable += pattern_capacity(r, cls - static_cast<uint32_t>(n.names.size()));
      } else if (is_open(r, cls) && std::find(goal.has.begin(), goal.has.end(), cls) == goal.has.end() &&
                 std::find(goal.lacks.begin(), goal.lacks.end(), cls) == goal.lacks.end() && readable(cls)) {
        ++reachable;
      }
    }
    return reachable >= goal.minimum;
  }
  std::vector<ClassId> must = goal.has;
  std::vector<ClassId> spent;
  return fill_object(r, goal, must, spent, steps);
}

// Depth-first: first the names that must come, then entries for claims that are short, then entries for the minimum.
bool Containers::fill_object(const Register& r, Goal& goal, std::vector<ClassId>& must, std::vector<ClassId>& spent,
                             size_t& steps) {
  spend(steps);
  const Node& n = grammar_.nodes[r.node];
  const auto attempt = [&](ClassId cls, const Pick& pick) {
    Goal next = goal;
    if (next.maximum == 0 || !book(n, pick, cls, next)) return false;
    spent.push_back(cls);
    const bool done = fill_object(r, next, must, spent, steps);
    spent.pop_back();
    return done;
  };
  if (!must.empty()) {
    const ClassId cls = must.back();
    must.pop_back();
    for (const Pick& pick : n.values[cls]) {
      if (pick_is_live(n, cls, pick) && holds(n, pick, cls, goal.members) && attempt(cls, pick)) return true;
    }
    must.push_back(cls);
    return false;
  }
  const bool is_short = goal.is_short();
  if (!is_short && goal.minimum == 0) return true;
  if (spent.size() > 2000) throw LimitError("max_formula", "an object with alternatives needs more than 2,000 members");
  for (ClassId cls = 0; cls < n.num_classes(); ++cls) {
    const auto times = static_cast<uint64_t>(std::count(spent.begin(), spent.end(), cls));
    if (cls >= n.names.size()) {
      if (pattern_capacity(r, cls - static_cast<uint32_t>(n.names.size())) <= times) continue;
    } else if (times > 0 || !is_open(r, cls) || std::find(goal.lacks.begin(), goal.lacks.end(), cls) != goal.lacks.end()) {
      continue;
    }
    for (const Pick& pick : n.values[cls]) {
      if (!pick_is_live(n, cls, pick) || !holds(n, pick, cls, goal.members)) continue;
      if (!is_short && cls >= n.names.size() && goal.maximum >= goal.minimum && is_free(n, pick, cls, goal) &&
          pattern_capacity(r, cls - static_cast<uint32_t>(n.names.size())) >= times + goal.minimum) {
        return true;
      }
      if (is_short) {
        const bool helps = std::any_of(goal.somes.begin(), goal.somes.end(), [&](const auto& some) {
          return some.second > 0 && covers(n, some.first, cls) &&
                 std::binary_search(pick.claims.begin(), pick.claims.end(), some.first);
        });
        if (!helps) continue;
      }
      if (attempt(cls, pick)) return true;
    }
  }
  return false;
}

bool Containers::fill_array(const Register& r, Goal& goal, uint64_t index, uint32_t depth, size_t& steps) {
  const Node& n = grammar_.nodes[r.node];
  if (depth > 2000) throw LimitError("max_formula", "an array with alternatives needs more than 2,000 items");
  for (;;) {
    spend(steps);
    if (!goal.is_short() && goal.minimum == 0) return true;
    if (goal.maximum == 0) return false;
    const ClassId cls = static_cast<ClassId>(std::min(index, uint64_t{n.prefix}));
    std::vector<const Pick*> picks;
    for (const Pick& pick : n.values[cls]) {
      if (pick_is_live(n, cls, pick) && holds(n, pick, cls, goal.members)) picks.push_back(&pick);
    }
    if (picks.empty()) return false;
    if (cls == n.prefix) {
      // Every later item is alike. If each missing claim has a pick that costs nothing, the items can be told off one by one.
      uint64_t needed = 0;
      bool easy = std::any_of(picks.begin(), picks.end(), [&](const Pick* p) { return is_free(n, *p, cls, goal); });
      for (const auto& [claim, missing] : goal.somes) {
        if (missing == 0) continue;
        needed += missing;
        easy = easy && std::any_of(picks.begin(), picks.end(), [&](const Pick* p) {
                 return is_free(n, *p, cls, goal) && std::binary_search(p->claims.begin(), p->claims.end(), claim);
               });
      }
      if (easy && std::max(needed, goal.minimum) <= goal.maximum) return true;
      if (goal.is_short()) {  // from here on only items that bring a missing claim are worth a place
        std::erase_if(picks, [&](const Pick* p) {
          return std::none_of(goal.somes.begin(), goal.somes.end(), [&](const auto& some) {
            return some.second > 0 && covers(n, some.first, cls) &&
                   std::binary_search(p->claims.begin(), p->claims.end(), some.first);
          });
        });
        if (picks.empty()) return false;
      }
    }
    if (picks.size() == 1) {  // no choice: go on in this loop
      if (!book(n, *picks[0], cls, goal)) return false;
      ++index;
      continue;
    }
    for (const Pick* pick : picks) {
      Goal next = goal;
      if (book(n, *pick, cls, next) && fill_array(r, next, index + 1, depth + 1, steps)) return true;
    }
    return false;
  }
}

size_t Containers::memory_bytes() const {
  size_t bytes = registers_.capacity() * sizeof(Register) + register_index_.memory_bytes();
  bytes += entries_.size() * 96 + used_sets_.size() * 64 + seen_sets_.size() * 48;
  for (const auto& menu : menus_) {
    if (menu != nullptr) bytes += sizeof(Menu) + menu->names.capacity() * 8 + menu->patterns.capacity() * 4;
  }
  return bytes;
}

}  // namespace gd
