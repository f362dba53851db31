#include "container.h"

#include <algorithm>

#include "errors.h"

namespace gd {

namespace {

constexpr size_t kOfEntry = 64;  // a node of a hash table

// Whether a bit of [low, high) is set.
bool any_bit(const std::vector<uint64_t>& bits, uint32_t low, uint32_t high) {
  if (low >= high) return false;
  const uint32_t first = low / 64;
  const uint32_t last = (high - 1) / 64;
  for (uint32_t w = first; w <= last; ++w) {
    uint64_t word = bits[w];
    if (w == first) word &= ~uint64_t{0} << (low % 64);
    if (w == last && high % 64 != 0) word &= (uint64_t{1} << (high % 64)) - 1;
    if (word != 0) return true;
  }
  return false;
}

}  // namespace

Containers::Containers(const Grammar& grammar, ExpressionPool& expressions, const std::vector<ExprId>& regexes,
                       const ByteSet& alphabet, const Limits& limits)
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

RegisterId Containers::intern(const Register& r) {
  uint64_t hash = combine(combine(17, r.node), r.position);
  hash = combine(combine(hash, r.count), r.seen);
  hash = combine(combine(hash, r.used), r.formula);
  const uint32_t next = static_cast<uint32_t>(registers_.size());
  make_room(registers_, satisfiable_, menus_);
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
  make_room(seen_sets_);
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
  const NodeId id = static_cast<NodeId>(std::distance(grammar_.nodes.data(), &n));
  return infos_[id].spellable[cls];
}

const Pick* Containers::find_pick(const Node& n, ClassId cls, const std::vector<uint32_t>& claims) {
  for (const Pick& pick : n.values[cls]) {
    if (pick.claims == claims) return pick_is_live(n, cls, pick) ? &pick : nullptr;
  }
  return nullptr;
}

// By claim, what it says of an entry of the class. What no pick relies on can't be picked.
std::vector<FormulaPool::Relevance> Containers::relevance(NodeId node, ClassId cls) {
  using Relevance = FormulaPool::Relevance;
  const Node& n = grammar_.nodes[node];
  std::vector<Relevance> result(n.claims.size(), Relevance::kNone);
  for (const uint32_t claim : info(node).claims_of[cls]) {
    if (n.claims[claim].kind == Claim::kMember) result[claim] = Relevance::kNever;
  }
  for (const Pick& pick : n.values[cls]) {
    if (!pick_is_live(n, cls, pick)) continue;
    for (const uint32_t claim : pick.claims) {
      result[claim] = n.claims[claim].kind == Claim::kMember ? Relevance::kMust : Relevance::kMay;
    }
  }
  return result;
}

// The one place where a count stops. Behind `count_stop` there is no maximum, the minimum is met, and every later item has the
// same class, so nothing depends on the count any more: the states are equal, not clamped together.
uint32_t Containers::next_count(const Info& i, uint32_t count) const {
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
  next.count = next_count(i, r.count);
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
  std::vector<bool> covers(n.claims.size(), false);
  for (const uint32_t claim : i.claims_of[cls]) covers[claim] = true;
  const auto any_open = [&](const Claim& c) { return is_any_open(next, c); };
  next.formula =
      formulas_.map(r.formula, changed_by(r, next, cls, claims), [&](FormulaId f, uint32_t claim, uint32_t times) -> FormulaId {
        expressions_.work().tick();
        const Claim& c = n.claims[claim];
        const bool picked = std::binary_search(claims.begin(), claims.end(), claim);
        const auto left = [&](uint32_t count) { return count == times ? f : formulas_.claim(claim, count); };
        switch (c.kind) {
          case Claim::kMember:
            if (covers[claim] && !picked) return FormulaPool::kFalse;
            return any_open(c) ? f : FormulaPool::kTrue;
          case Claim::kSome: {
            const uint32_t count = covers[claim] && picked ? times - 1 : times;
            if (count == 0) return FormulaPool::kTrue;
            return any_open(c) ? left(count) : FormulaPool::kFalse;
          }
          case Claim::kMost: {
            if (covers[claim] && !picked) {
              if (times == 0) return FormulaPool::kFalse;
              return any_open(c) ? left(times - 1) : FormulaPool::kTrue;
            }
            return any_open(c) ? f : FormulaPool::kTrue;
          }
          case Claim::kHas:
            if (c.classes[0] == cls) return FormulaPool::kTrue;
            return is_open(next, c.classes[0]) ? f : FormulaPool::kFalse;
          case Claim::kLacks:
            if (c.classes[0] == cls) return FormulaPool::kFalse;
            return is_open(next, c.classes[0]) ? f : FormulaPool::kTrue;
          case Claim::kCountMin:
            return times <= 1 ? FormulaPool::kTrue : left(times - 1);
          case Claim::kCountMax:
            return times == 0 ? FormulaPool::kFalse : left(times - 1);
        }
        return FormulaPool::kFalse;
      });
  return next;
}

bool Containers::is_any_open(const Register& r, const Claim& claim) {
  return std::any_of(claim.classes.begin(), claim.classes.end(), [&](ClassId cls) { return is_open(r, cls); });
}

// The claims of the formula that an entry of the class makes others of: see `advance`. `next`: the register behind it.
ClaimBits Containers::changed_by(const Register& r, const Register& next, ClassId cls, const std::vector<uint32_t>& claims) {
  const Node& n = grammar_.nodes[r.node];
  const Info& i = info(r.node);
  const ClaimBits& present = formulas_[r.formula].claims;
  ClaimBits changed;
  for (const uint32_t claim : i.counting) changed.insert(claim);
  for (const uint32_t claim : i.claims_of[cls]) {
    if (!present.may_contain(claim)) continue;
    const Claim& c = n.claims[claim];
    const bool is_picked = std::binary_search(claims.begin(), claims.end(), claim);
    const bool counts_it = c.kind == Claim::kSome;  // and the others count the exceptions
    if (is_picked == counts_it || !is_any_open(next, c)) changed.insert(claim);
  }
  // The entry closes its own class, and where it comes in an order, names that would have come before it.
  for (uint32_t rank = r.position; rank < std::min(next.position, i.num_ranks); ++rank) {
    if (i.by_rank[rank] == kNone) continue;
    for (const uint32_t claim : i.claims_of[i.by_rank[rank]]) {
      if (present.may_contain(claim) && !is_any_open(next, n.claims[claim])) changed.insert(claim);
    }
  }
  return changed;
}

// For one more entry.
bool Containers::has_room(const Register& r) {
  const Info& i = info(r.node);
  return i.max_count == kNone || r.count < i.max_count;
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
  const FormulaId at_end =
      formulas_.map(r.formula, formulas_[r.formula].claims, [&](FormulaId, uint32_t claim, uint32_t) -> FormulaId {
        switch (n.claims[claim].kind) {
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

bool Containers::is_missing(RegisterId id, ClassId name) {
  const Register r = registers_[id];
  return info(r.node).is_required[name] && is_open(r, name);
}

NodeId Containers::plain_value(NodeId node, ClassId cls) {
  info(node);
  const Pick* pick = find_pick(grammar_.nodes[node], cls, {});
  return pick == nullptr ? kNone : pick->node;
}

uint32_t Containers::entries_missing(RegisterId id) {
  const Register r = registers_[id];
  const uint32_t minimum = grammar_.nodes[r.node].min_count;
  return info(r.node).counts && minimum > r.count ? minimum - r.count : 0;
}

RegisterId Containers::with_used_key(RegisterId id, TextId text) {
  Register r = registers_[id];
  r.used = add_used(r.used, text);
  return intern(r);
}

RegisterId Containers::without_used(RegisterId id) {
  Register r = registers_[id];
  if (r.used == 0) return id;
  const std::vector<TextId>& used = used_sets_[r.used];
  r.used = std::binary_search(used.begin(), used.end(), TextPool::kFresh) ? add_used(0, TextPool::kFresh) : 0;
  return intern(r);
}

RegisterId Containers::with_all_used(RegisterId id, RegisterId other) {
  Register r = registers_[id];
  for (const TextId text : std::vector<TextId>(used_texts(other))) r.used = add_used(r.used, text);
  return intern(r);
}

size_t Containers::num_used_by_both(RegisterId id, RegisterId other) const {
  const std::vector<TextId>& used = used_texts(id);
  return static_cast<size_t>(std::count_if(used.begin(), used.end(), [&](TextId text) {
    return std::binary_search(used_texts(other).begin(), used_texts(other).end(), text);
  }));
}

void Containers::forget() {
  entries_.clear();
  entry_bytes_ = 0;
  for (std::unique_ptr<Menu>& menu : menus_) menu.reset();
  std::fill(satisfiable_.begin(), satisfiable_.end(), uint8_t{0});
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
  if (has_room(r) && (n.kind == Node::kElements || order_allows(r, cls))) {
    FormulaPool::ClaimSets sets{{}};
    if (r.formula != FormulaPool::kTrue) {
      expressions_.work().tick(n.claims.size());
      sets = formulas_.project(r.formula, i.speaking[cls], relevance(r.node, cls), limits_.max_picks);
    }
    for (const std::vector<uint32_t>& claims : sets) {
      expressions_.work().tick(1 + sets.size() / 16);
      const Pick* pick = find_pick(n, cls, claims);
      if (pick == nullptr) continue;
      const Register next = advance(r, cls, claims);
      if (next.formula == FormulaPool::kFalse) continue;
      const RegisterId next_id = intern(next);
      if (satisfiable(next_id)) result.push_back({next_id, pick->node});
    }
  }
  const auto& kept = entries_.emplace(key, std::move(result)).first->second;
  entry_bytes_ += kOfEntry + kept.capacity() * sizeof(Entry);
  return kept;
}

uint32_t Containers::add_used(uint32_t set, TextId text) {
  std::vector<TextId> used = used_sets_[set];
  const auto at = std::lower_bound(used.begin(), used.end(), text);
  if (at == used.end() || *at != text) used.insert(at, text);
  uint64_t hash = combine(13, used.size());
  for (const TextId t : used) hash = combine(hash, t);
  const uint32_t next = static_cast<uint32_t>(used_sets_.size());
  make_room(used_sets_);
  const uint32_t id = used_index_.find_or_add(hash, next, [&](uint32_t other) { return used_sets_[other] == used; });
  if (id == next) {
    used_bytes_ += sizeof(used) + used.capacity() * sizeof(TextId);
    used_sets_.push_back(std::move(used));
  }
  return id;
}

RegisterId Containers::with_used(RegisterId id, TextId text) {
  const RegisterId result = with_used_key(id, text);
  return satisfiable(result) ? result : kNone;
}

// Where there is room for one more entry.
bool Containers::name_may_come(RegisterId id, ClassId cls) {
  const Register r = registers_[id];
  if (r.formula != FormulaPool::kTrue) return !entries(id, cls).empty();
  static const std::vector<uint32_t> nothing;
  if (!order_allows(r, cls) || find_pick(grammar_.nodes[r.node], cls, nothing) == nullptr) return false;
  return !info(r.node).counts || satisfiable(advance(r, cls, nothing));
}

bool Containers::any_key_may_come(RegisterId id) {
  const std::vector<bool>& spare = pattern_menu(id).spare;
  if (std::find(spare.begin(), spare.end(), true) != spare.end()) return true;
  return any_name_may_come(id, 0, static_cast<uint32_t>(node(id).names.size()));
}

bool Containers::any_name_may_come(RegisterId id, uint32_t low, uint32_t high) {
  Menu& m = menu(id);
  if (!m.has_room) return false;
  if (any_bit(m.names, low, high)) return true;
  for (uint32_t s = low; s < high; ++s) {
    uint64_t& asked = m.asked[s / 64];
    const uint64_t bit = uint64_t{1} << (s % 64);
    if ((asked & bit) != 0) continue;
    const bool may_come = name_may_come(id, info(registers_[id].node).sorted_to_class[s]);
    asked |= bit;
    if (!may_come) continue;
    m.names[s / 64] |= bit;
    return true;
  }
  return false;
}

Containers::Menu& Containers::menu(RegisterId id) {
  if (menus_[id] != nullptr) return *menus_[id];
  auto made = std::make_unique<Menu>();
  const Register r = registers_[id];
  const Node& n = grammar_.nodes[r.node];
  const uint32_t num_names = static_cast<uint32_t>(n.names.size());
  made->has_room = has_room(r);
  made->asked.assign((num_names + 63) / 64, 0);
  made->names.assign((num_names + 63) / 64, 0);
  for (uint32_t p = 0; made->has_room && p < n.patterns.size(); ++p) {
    if (entries(id, num_names + p).empty() || pattern_capacity(r, p) == 0) continue;
    made->patterns.patterns.push_back(p);
    made->patterns.spare.push_back(can_spare(id, p));
  }
  menu_bytes_ += sizeof(Menu) + (made->asked.size() + made->names.size()) * 8 + made->patterns.patterns.capacity() * 4;
  menus_[id] = std::move(made);
  return *menus_[id];
}

size_t Containers::memory_bytes() const {
  return registers_.size() * (sizeof(Register) + 32) + register_index_.memory_bytes() + entry_bytes_ + used_bytes_ + menu_bytes_ +
         seen_sets_.size() * 48 + texts_.memory_bytes() + formulas_.memory_bytes();
}

}  // namespace gd
