#include "uniqueness.h"

#include <algorithm>
#include <optional>

#include "automaton.h"
#include "errors.h"

namespace gd {
namespace {

bool is_behind_value(FrameKind kind) {
  return kind == FrameKind::kItemAfter || kind == FrameKind::kMemberAfter || kind == FrameKind::kRootAfter ||
         kind == FrameKind::kPart;
}

}  // namespace

Uniqueness::Uniqueness(Automaton& automaton, ValueCounter& counter, ValuePool& values)
    : automaton_(automaton), counter_(counter), values_(values) {
  levels_.push_back({});  // kNoLevel
}

LevelId Uniqueness::intern(const Level& level) {
  uint64_t hash = combine(combine(41, static_cast<uint64_t>(level.kind)), static_cast<uint64_t>(level.phase));
  hash = combine(combine(combine(hash, level.below), level.parent), level.values);
  hash = combine(combine(combine(hash, level.used), level.candidates), level.key + (uint64_t{level.unknown} << 32));
  const uint32_t next = static_cast<uint32_t>(levels_.size());
  make_room(levels_);
  const LevelId id = index_.find_or_add(hash, next, [&](uint32_t other) { return levels_[other] == level; });
  if (id == next) levels_.push_back(level);
  return id;
}

Uniqueness::Watch Uniqueness::read(const Frame& watch) const { return {watch.extra, watch.state, watch.sub}; }

bool Uniqueness::is_doubtful(const Frame& watch) const { return watch.parent != 0; }

FrameId Uniqueness::interned(const Watch& watch) {
  return automaton_.intern({FrameKind::kWatched, watch.text, watch.level, watch.inner, watch.doubtful ? 1U : 0U});
}

std::string Uniqueness::text_of(const Watch& watch) const { return automaton_.containers().texts().suffix(watch.text, 0); }

// ---- one byte -------------------------------------------------------------------------------------------------------

FrameId Uniqueness::watched(const Frame* watch, const Frame& from, uint8_t byte, FrameId to, bool for_mask) {
  const Frame inner = automaton_.frame(to);
  const bool opens_array = byte == '[' && inner.kind == FrameKind::kArrayOpen;
  const bool opens_unique = opens_array && automaton_.containers().node(inner.state).unique;
  if (watch == nullptr) {
    if (!opens_unique) return to;
    Level level;
    level.parent = inner.parent;
    return checked({to, intern(level), TextPool::kEmptyText}, for_mask);
  }
  Watch w = read(*watch);
  w.inner = to;
  TextPool& texts = automaton_.containers().texts();
  Level top = levels_[w.level];
  if (opens_unique ||
      (top.phase != Level::Phase::kForgotten && (opens_array || (byte == '{' && inner.kind == FrameKind::kObjectOpen)))) {
    if (top.phase != Level::Phase::kForgotten) begin_item(w);
    Level level;
    level.kind = opens_unique ? Level::Kind::kUnique : opens_array ? Level::Kind::kArray : Level::Kind::kObject;
    level.below = w.level;
    if (opens_unique) level.parent = inner.parent;
    w.level = intern(level);
    w.text = TextPool::kEmptyText;
    return checked(w, for_mask);
  }
  if (top.phase == Level::Phase::kForgotten) return in_forgotten_item(w, byte, for_mask);

  const bool is_inside = inner.parent == from.parent || inner.kind == FrameKind::kTerminal;
  if (!is_inside && is_behind_value(inner.kind) && from.kind != FrameKind::kTerminal) {  // the container is closed
    const ListId read_values = top.values;
    const bool is_object = top.kind == Level::Kind::kObject;
    if (top.below == kNoLevel) return to;
    w.level = top.below;
    w.text = TextPool::kEmptyText;
    if (levels_[w.level].phase == Level::Phase::kForgotten) return in_forgotten_item(w, byte, for_mask);
    const ValueId value = is_object ? values_.object(read_values) : values_.array(read_values);
    return close_value(w, value) ? checked(w, for_mask) : kNone;
  }
  switch (from.kind) {
    case FrameKind::kArrayOpen:
    case FrameKind::kItemNext:
    case FrameKind::kMemberBefore:
      if (inner.kind == from.kind)
        return for_mask ? interned(without_texts(w)) : interned(w);  // whitespace, or more of a separator
      begin_item(w);
      [[fallthrough]];
    case FrameKind::kTerminal: {
      w.text = texts.append(w.text, byte);
      if (inner.kind == FrameKind::kTerminal) return checked(w, for_mask);
      const ValueId value = values_.scalar(text_of(w));
      w.text = TextPool::kEmptyText;
      return close_value(w, value) ? checked(w, for_mask) : kNone;
    }
    case FrameKind::kKey:
      if (inner.kind == FrameKind::kKey) {
        w.text = texts.append(w.text, byte);
      } else {
        top.key = values_.key(text_of(w));
        w.level = intern(top);
        w.text = TextPool::kEmptyText;
      }
      return checked(w, for_mask);
    default:
      if (inner.kind == from.kind) return for_mask ? interned(without_texts(w)) : interned(w);
      return checked(w, for_mask);
  }
}

// The item of the top level is not followed: what counts is where it ends.
FrameId Uniqueness::in_forgotten_item(Watch w, uint8_t, bool for_mask) {
  const Frame inner = automaton_.frame(w.inner);
  Level top = levels_[w.level];
  if (inner.kind == FrameKind::kItemAfter && inner.parent == top.parent) {
    w.doubtful = top.unknown;
    top.phase = Level::Phase::kBetween;
    top.unknown = true;
    w.level = intern(top);
    return checked(w, for_mask);
  }
  return interned(w);
}

void Uniqueness::begin_item(Watch& w) {
  Level top = levels_[w.level];
  if (top.kind != Level::Kind::kUnique) return;
  top.phase = Level::Phase::kInItem;
  top.candidates = top.used;
  w.level = intern(top);
}

// The value that the top level waits for is complete; false if it may not be this one.
bool Uniqueness::close_value(Watch& w, ValueId value) {
  Level top = levels_[w.level];
  switch (top.kind) {
    case Level::Kind::kObject:
      top.values = values_.with_member(top.values, top.key, value);
      top.key = ValuePool::kAbsent;
      break;
    case Level::Kind::kArray:
      top.values = values_.appended(top.values, value);
      break;
    case Level::Kind::kUnique:
      if (ValuePool::contains(values_.list(top.used), value)) return false;
      w.doubtful = top.unknown;
      top.used = values_.with_value(top.used, value);
      if (top.below != kNoLevel && levels_[top.below].phase != Level::Phase::kForgotten) {
        top.values = values_.appended(top.values, value);
      }
      top.phase = Level::Phase::kBetween;
      top.candidates = ValuePool::kNoValues;
      counter_.start_search();
      if (!counter_.can_finish(automaton_.frame(w.inner).state, std::vector<ValueId>(values_.list(top.used)))) return false;
      break;
  }
  w.level = intern(top);
  return true;
}

FrameId Uniqueness::checked(Watch w, bool for_mask) {
  if (!is_sure(w)) {
    narrow(w);
    if (!is_live(w)) return kNone;
  }
  return interned(for_mask ? without_texts(w) : w);
}

// Whether no earlier item can be met and values are plenty: the everyday case, in which what is read bars nothing.
bool Uniqueness::is_sure(const Watch& w) {
  const Frame* frame = &automaton_.frame(w.inner);
  if (frame->kind == FrameKind::kTerminal) frame = &automaton_.frame(frame->parent);
  for (LevelId id = w.level; id != kNoLevel && levels_[id].phase != Level::Phase::kForgotten; id = levels_[id].below) {
    const Level& level = levels_[id];
    if (level.candidates != ValuePool::kNoValues || level.unknown) return false;
    if (level.kind == Level::Kind::kUnique && !is_plenty(id, frame->state)) return false;
    frame = &automaton_.frame(frame->parent);
  }
  return true;
}

bool Uniqueness::is_plenty(LevelId level, RegisterId reg) {
  const auto [known, added] = plenty_.try_emplace((uint64_t{level} << 32) | reg, false);
  if (added) known->second = counter_.is_plenty(reg, values_.list(levels_[level].used).size() + 2);
  return known->second;
}

// ---- levels and registers ------------------------------------------------------------------------------------------

Uniqueness::Chain Uniqueness::chain(const Watch& w) const {
  Chain result;
  const Frame* frame = &automaton_.frame(w.inner);
  if (frame->kind == FrameKind::kTerminal) frame = &automaton_.frame(frame->parent);
  for (LevelId level = w.level; level != kNoLevel && levels_[level].phase != Level::Phase::kForgotten;
       level = levels_[level].below) {
    result.push_back({level, frame->state});
    frame = &automaton_.frame(frame->parent);
  }
  return result;
}

// Interns the levels of a chain anew, outermost first; `levels` are parallel to it.
void Uniqueness::rebuild(Watch& w, const Chain& chain, std::vector<Level> levels) {
  LevelId below = levels_[chain.back().level].below;
  for (size_t i = chain.size(); i-- > 0;) {
    levels[i].below = below;
    below = intern(levels[i]);
  }
  w.level = below;
}

// Takes out the candidates that what has been read excludes.
void Uniqueness::narrow(Watch& w) {
  const Chain places = chain(w);
  std::optional<ScalarPrefix> text;
  bool changed = false;
  std::vector<Level> levels;
  for (const Place& place : places) levels.push_back(levels_[place.level]);
  for (size_t i = 0; i < places.size(); ++i) {
    if (levels[i].candidates == ValuePool::kNoValues) continue;
    if (!text.has_value()) text.emplace(text_of(w));
    std::vector<ValueId> left;
    for (const ValueId value : values_.list(levels[i].candidates)) {
      if (is_consistent(value, i, places, w, *text)) left.push_back(value);
    }
    if (left.size() == values_.list(levels[i].candidates).size()) continue;
    levels[i].candidates = values_.intern_list(std::move(left));
    changed = true;
  }
  if (changed) rebuild(w, places, std::move(levels));
}

// Whether what has been read inside level `index` of the chain may become `value`.
bool Uniqueness::is_consistent(ValueId id, size_t index, const Chain& places, const Watch& w, const ScalarPrefix& text) const {
  const FrameKind kind = automaton_.frame(w.inner).kind;
  if (index == 0) return kind != FrameKind::kTerminal || values_.may_become(id, text);
  const Level& level = levels_[places[index - 1].level];
  const ValuePool::Value& value = values_[id];
  const std::vector<ValueId>& known = values_.list(level.values);
  const bool is_top = index == 1;
  if (level.kind == Level::Kind::kObject) {
    if (value.kind != ValuePool::Kind::kObject) return false;
    for (size_t i = 0; i < known.size(); i += 2) {
      if (ValuePool::member(value.parts, known[i]) != known[i + 1]) return false;
    }
    if (level.key != ValuePool::kAbsent) {
      const ValueId member = ValuePool::member(value.parts, level.key);
      return member != ValuePool::kAbsent && is_consistent(member, index - 1, places, w, text);
    }
    if (!is_top || kind == FrameKind::kObjectOpen || kind == FrameKind::kMemberAfter) return true;
    if (kind == FrameKind::kMemberNext) return value.parts.size() > known.size();
    for (size_t i = 0; i < value.parts.size(); i += 2) {
      if (ValuePool::member(known, value.parts[i]) != ValuePool::kAbsent) continue;
      if (std::string_view(values_[value.parts[i]].text).substr(0, text.text.size()) == text.text) return true;
    }
    return false;
  }
  if (value.kind != ValuePool::Kind::kArray || value.parts.size() < known.size()) return false;
  if (!std::equal(known.begin(), known.end(), value.parts.begin())) return false;
  if (is_top && (kind == FrameKind::kArrayOpen || kind == FrameKind::kItemAfter)) return true;
  if (value.parts.size() == known.size()) return false;
  return (is_top && kind == FrameKind::kItemNext) || is_consistent(value.parts[known.size()], index - 1, places, w, text);
}

// The scalar that stands in `value` where the thread is reading one, kAbsent if there is none.
ValueId Uniqueness::scalar_at(ValueId value, size_t index, const Chain& places) const {
  for (; index > 0 && value != ValuePool::kAbsent; --index) {
    const Level& level = levels_[places[index - 1].level];
    const std::vector<ValueId>& parts = values_[value].parts;
    if (level.kind == Level::Kind::kObject) {
      value = ValuePool::member(parts, level.key);
    } else {
      const size_t at = values_.list(level.values).size();
      value = at < parts.size() ? parts[at] : ValuePool::kAbsent;
    }
  }
  return value;
}

// ---- forgetting -----------------------------------------------------------------------------------------------------

bool Uniqueness::is_plenty(const Chain& places) {
  return std::all_of(places.begin(), places.end(), [&](const Place& place) {
    return levels_[place.level].kind != Level::Kind::kUnique || is_plenty(place.level, place.reg);
  });
}

// From the outermost level inwards: an item that can equal no earlier one, where values are plenty, is as good as any other such item.
Uniqueness::Watch Uniqueness::without_texts(Watch w) {
  for (;;) {
    const Chain places = chain(w);
    if (places.empty()) return w;
    Level outermost = levels_[places.back().level];
    if (outermost.phase != Level::Phase::kInItem || outermost.unknown || outermost.candidates != ValuePool::kNoValues ||
        !is_plenty(places.back().level, places.back().reg)) {
      return w;
    }
    outermost.phase = Level::Phase::kForgotten;
    LevelId below = intern(outermost);
    size_t inner = places.size() - 1;  // the next such array further in starts anew, the levels between are dropped
    while (inner > 0 && levels_[places[inner - 1].level].kind != Level::Kind::kUnique) --inner;
    if (inner == 0) return {w.inner, below, TextPool::kEmptyText, w.doubtful};
    for (size_t i = inner; i-- > 0;) {
      Level level = levels_[places[i].level];
      level.below = below;
      if (i + 1 == inner) level.values = ValuePool::kNoValues;
      below = intern(level);
    }
    w.level = below;
  }
}

FrameId Uniqueness::forgotten(const Frame& watch) {
  Watch w = without_texts(read(watch));
  w.inner = automaton_.forget_key(w.inner);
  return interned(w);
}

void Uniqueness::close_fresh(const Frame& watch, std::vector<FrameId>& out) {
  Watch w = read(watch);
  const Chain places = chain(w);
  if (!places.empty()) {
    std::vector<Level> levels;
    for (const Place& place : places) {
      levels.push_back(levels_[place.level]);
      levels.back().candidates = ValuePool::kNoValues;
    }
    rebuild(w, places, std::move(levels));
    w = without_texts(w);
  }
  std::vector<FrameId> behind;
  automaton_.resume_into(automaton_.frame(w.inner).parent, behind);
  for (const FrameId to : behind) {
    w.inner = to;
    const FrameId next = in_forgotten_item(w, 0, true);
    if (next != kNone) out.push_back(next);
  }
}

bool Uniqueness::is_plenty(const Frame& watch) { return is_plenty(chain(read(watch))); }

bool Uniqueness::is_free(const Frame& watch) {
  const FrameKind kind = automaton_.frame(watch.extra).kind;
  return (kind == FrameKind::kTerminal || kind == FrameKind::kKey) && chain(without_texts(read(watch))).empty();
}

bool Uniqueness::ends_plainly(const Frame& watch) { return ends_plainly(read(watch), true); }

bool Uniqueness::is_pending(const Frame& watch) { return !ends_plainly(read(watch), false); }

// `with_candidates`: an earlier item that the present one may equal counts as well.
bool Uniqueness::ends_plainly(const Watch& w, bool with_candidates) {
  Containers& containers = automaton_.containers();
  const Frame inner = automaton_.frame(w.inner);
  Frame at = inner.kind == FrameKind::kTerminal ? automaton_.frame(inner.parent) : inner;
  bool is_inner = inner.kind != FrameKind::kTerminal;
  for (LevelId id = w.level; id != kNoLevel; id = levels_[id].below) {
    const Level& level = levels_[id];
    if (level.phase == Level::Phase::kForgotten) {  // levels between are not kept
      while (at.parent != level.parent) at = automaton_.frame(at.parent);
      if (!containers.can_close(at.state)) return false;
    } else if (level.kind == Level::Kind::kUnique) {
      if (with_candidates && level.candidates != ValuePool::kNoValues) return false;
      if (!containers.can_close(at.state)) {
        const bool takes_one = is_inner && inner.kind == FrameKind::kArrayOpen &&
                               containers[at.state].formula == FormulaPool::kTrue && containers.entries_missing(at.state) <= 1;
        if (!takes_one) return false;
      } else if (is_inner && inner.kind == FrameKind::kItemNext && with_candidates) {
        return false;
      }
    }
    is_inner = false;
    at = automaton_.frame(at.parent);
  }
  return true;
}

bool Uniqueness::has_unknown(const Frame& watch) const {
  for (LevelId id = watch.state; id != kNoLevel; id = levels_[id].below) {
    if (levels_[id].unknown) return true;
  }
  return false;
}

ByteSet Uniqueness::doubtful_bytes(const Frame& watch) {
  const Watch w = read(watch);
  const Frame inner = automaton_.frame(w.inner);
  const ByteSet live = automaton_.expressions().live_bytes(inner.state);
  const StringPrefix read_so_far = read_string(text_of(w));
  const Chain places = chain(w);
  const bool any_text = std::any_of(places.begin(), places.end(), [&](const Place& p) { return levels_[p.level].unknown; });
  if (!read_so_far.valid || !read_so_far.pending.empty() || any_text || !is_plenty(places)) return live;
  ByteSet bytes;
  bytes.insert('"');
  bytes.insert('\\');
  for (size_t i = 0; i < places.size(); ++i) {
    for (const ValueId candidate : values_.list(levels_[places[i].level].candidates)) {
      const ValueId scalar = scalar_at(candidate, i, places);
      if (scalar == ValuePool::kAbsent) continue;
      const std::string& text = values_[scalar].text;
      if (text.size() > read_so_far.text.size()) bytes.insert(static_cast<uint8_t>(text[read_so_far.text.size()]));
    }
  }
  bytes.intersect(live);
  return bytes;
}

// ---- liveness -------------------------------------------------------------------------------------------------------

bool Uniqueness::is_live(Watch& w) {
  const Chain places = chain(w);
  if (places.empty()) return true;
  counter_.start_search();
  if (is_surely_live(w, places)) return true;
  // Not sure to be live whatever the forgotten item was.
  w.doubtful = w.doubtful || std::any_of(places.begin(), places.end(), [&](const Place& p) { return levels_[p.level].unknown; });
  Hash128 key;
  key.feed((uint64_t{w.inner} << 32) | w.level);
  key.feed(w.text);
  const auto known = live_.find(key);
  if (known != live_.end()) return known->second;
  const bool result = search_completion(w, places);
  live_.emplace(key, result);
  return result;
}

bool Uniqueness::is_surely_live(const Watch& w, const Chain& places) {
  const bool no_candidates = std::all_of(places.begin(), places.end(), [&](const Place& place) {
    return levels_[place.level].candidates == ValuePool::kNoValues && !levels_[place.level].unknown;
  });
  if (!is_plenty(places)) return false;
  if (no_candidates) return true;
  const Frame inner = automaton_.frame(w.inner);
  uint64_t bound = 1;  // so many different values may come of what is being read
  if (inner.kind == FrameKind::kTerminal) {
    bound = counter_.at_least(static_cast<ExprId>(inner.state), text_of(w));
  } else if (inner.kind == FrameKind::kColon || inner.kind == FrameKind::kMemberBefore) {
    bound = counter_.values_of_node(inner.extra);
  } else if (inner.kind == FrameKind::kKey) {
    bound = bound_from_key(w, places[0]);
  }
  for (const Place& place : places) {
    const Level& level = levels_[place.level];
    if (level.kind == Level::Kind::kUnique) {
      if (level.phase == Level::Phase::kBetween) {
        bound = 1;
        continue;
      }
      const uint64_t num_candidates = values_.list(level.candidates).size() + (level.unknown ? 1 : 0);
      if (bound <= num_candidates) return false;
      bound -= num_candidates;
    } else {
      // Before its key is complete, the entry to come is not chosen yet.
      const bool is_chosen = &place != &places.front() || inner.kind != FrameKind::kKey;
      if (is_chosen) bound = std::max(bound, counter_.ways_to_go_on(place.reg));
    }
  }
  return true;
}

// At least so many objects come of the one whose key is being read.
uint64_t Uniqueness::bound_from_key(const Watch& w, const Place& place) {
  Containers& containers = automaton_.containers();
  const Frame inner = automaton_.frame(w.inner);
  const KeyPosition key = automaton_.key(inner.extra);
  const Node& n = containers.node(place.reg);
  const std::string text = text_of(w);
  uint64_t bound = 1;
  const auto of_class = [&](ClassId cls) {
    const std::vector<Containers::Entry> entries = containers.entries(place.reg, cls);
    for (const Containers::Entry& entry : entries) {
      bound = std::max({bound, counter_.values_of_node(entry.value), counter_.ways_to_go_on(entry.next)});
    }
    return !entries.empty();
  };
  for (ClassId cls = 0; cls < n.names.size() && bound < ValueCounter::kMany; ++cls) {
    if (std::string_view(n.names[cls]).substr(0, text.size()) == text) of_class(cls);
  }
  const auto patterns = automaton_.key_patterns(key);
  for (const auto& [pattern, state] : std::vector(patterns.begin(), patterns.end())) {
    const uint64_t keys = automaton_.expressions().num_strings(state);
    const uint64_t taken = n.names.size() + containers.used_texts(place.reg).size();
    if (keys > taken && of_class(static_cast<ClassId>(n.names.size()) + pattern)) bound = std::max(bound, keys - taken);
  }
  return bound;
}

void Uniqueness::list_from_key(const Watch& w, const Place& place, ValueCounter::Values& out) {
  Containers& containers = automaton_.containers();
  const Frame inner = automaton_.frame(w.inner);
  const KeyPosition key = automaton_.key(inner.extra);
  const Node& n = containers.node(place.reg);
  const ListId members = levels_[place.level].values;
  const std::string text = text_of(w);
  const auto list = [&](const std::vector<Containers::Entry>& entries, const std::string& name, bool is_pattern) {
    TextId whole = TextPool::kEmptyText;
    if (is_pattern) {
      for (const char c : name) whole = containers.texts().append(whole, static_cast<uint8_t>(c));
    }
    for (const Containers::Entry& entry : entries) {
      const RegisterId next = is_pattern ? containers.with_used(entry.next, whole) : entry.next;
      if (next == kNone) continue;
      ValueCounter::Values found = out.like();
      counter_.list_node(entry.value, found);
      out.complete = out.complete && found.complete;
      for (const ValueId value : found.list) {
        if (out.is_full()) return;
        counter_.list_objects(next, values_.with_member(members, values_.key(name), value), false, out);
      }
    }
  };
  for (ClassId cls = 0; cls < n.names.size(); ++cls) {
    if (std::string_view(n.names[cls]).substr(0, text.size()) == text)
      list(containers.entries(place.reg, cls), n.names[cls], false);
  }
  const auto patterns = automaton_.key_patterns(key);
  for (const auto& [pattern, state] : std::vector(patterns.begin(), patterns.end())) {
    const std::vector<Containers::Entry> entries = containers.entries(place.reg, static_cast<ClassId>(n.names.size()) + pattern);
    bool all_keys = true;
    for (const std::string& name : counter_.list_texts(state, text, out.limit + n.names.size(), all_keys)) {
      if (std::find(n.names.begin(), n.names.end(), name) != n.names.end()) continue;
      if (ValuePool::member(values_.list(members), values_.key(name)) == ValuePool::kAbsent) list(entries, name, true);
    }
    out.complete = out.complete && all_keys;
  }
}

// Lists the ways to go on, from the innermost container outwards, until one is found in which all items are distinct.
bool Uniqueness::search_completion(const Watch& w, const Chain& places) {
  const Frame inner = automaton_.frame(w.inner);
  if (places.size() == 1 && levels_[places[0].level].phase == Level::Phase::kBetween) {  // between items: no texts are asked for
    const std::vector<ValueId> used = values_.list(levels_[places[0].level].used);
    return inner.kind == FrameKind::kItemNext ? counter_.can_go_on(places[0].reg, used) : counter_.can_finish(places[0].reg, used);
  }
  for (uint32_t number = 0; number < ValueCounter::kNumRounds; ++number) {
    ValueCounter::Values found = ValueCounter::round(number);
    size_t at = 0;
    if (inner.kind == FrameKind::kTerminal) {
      counter_.list_scalars(inner.state, text_of(w), found);
    } else if (inner.kind == FrameKind::kColon || inner.kind == FrameKind::kMemberBefore) {
      counter_.list_node(inner.extra, found);
    } else {
      const Level level = levels_[places[0].level];
      const bool must_take = inner.kind == FrameKind::kItemNext || inner.kind == FrameKind::kMemberNext;
      if (inner.kind == FrameKind::kKey) {
        list_from_key(w, places[0], found);
      } else if (level.kind == Level::Kind::kObject) {
        counter_.list_objects(places[0].reg, level.values, must_take, found);
      } else {
        counter_.list_arrays(places[0].reg, level.values, level.used, must_take, found);
      }
      at = 1;
    }
    for (; at < places.size() && !found.list.empty(); ++at) {
      const Level level = levels_[places[at].level];
      const RegisterId reg = places[at].reg;
      ValueCounter::Values outer = found.like();
      for (const ValueId value : found.list) {
        if (level.kind == Level::Kind::kObject) {
          counter_.list_objects(reg, values_.with_member(level.values, level.key, value), false, outer);
        } else if (level.kind == Level::Kind::kArray) {
          counter_.list_arrays(reg, values_.appended(level.values, value), ValuePool::kNoValues, false, outer);
        } else {
          if (ValuePool::contains(values_.list(level.used), value)) continue;
          const ListId used = values_.with_value(level.used, value);
          if (!counter_.can_finish(reg, std::vector<ValueId>(values_.list(used)))) continue;
          if (at + 1 == places.size()) return true;
          counter_.list_arrays(reg, values_.appended(level.values, value), used, false, outer);
        }
        if (outer.is_full()) break;
      }
      outer.complete = outer.complete && found.complete;
      found = std::move(outer);
    }
    if (!found.list.empty()) return true;
    if (found.complete) return false;
  }
  throw LimitError("max_search", "whether an array with uniqueItems can still be finished takes too long to decide");
}

}  // namespace gd
