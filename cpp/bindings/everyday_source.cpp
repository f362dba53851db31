#include "bindings/everyday_source.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace gd::everyday {

namespace {

// Schemas inside each other that look at one value: twice as many are less than Limits.max_depth. What refers to itself has more.
constexpr uint32_t kMostInside = 32;
constexpr size_t kMostMembersInside = 1000;  // so that Limits.max_formula is no question

// `depth`: how many schemas look at the value so far.
Literal target_of(Reader& reader, Literal literal, uint32_t& depth) {
  for (; is_schema(literal); ++depth) {
    if (depth > kMostInside) throw NotEveryday{};
    const Literal alias = reader.said_by(literal).alias;
    if (alias == kNoLiteral) break;
    literal = alias;
  }
  return literal;
}

bool says(const Reading& reading, uint32_t type) {
  switch (type) {
    case kNull:
      return false;
    case kBoolean:
      return reading.truths != 3;
    case kObject:
      return !reading.object_key.empty();
    case kArray:
      return !reading.array_key.empty();
    default:
      return std::any_of(reading.claims.begin(), reading.claims.end(), [&](const Claim& c) { return c.type == type; });
  }
}

Source source_of(Reader& reader, Literal literal, uint32_t type, uint32_t depth) {
  if (depth > kMostInside) throw NotEveryday{};
  literal = target_of(reader, literal, depth);
  if (literal == kNever) return {};
  if (literal == kAlways || literal == kFree) return {Source::kAnything};
  const Reading& reading = reader.said_by(literal);
  if ((reading.types & type) == 0) return {};
  if (reading.branches.empty()) return says(reading, type) ? Source{Source::kSaid, literal} : Source{Source::kAnything};
  if (says(reading, type)) throw NotEveryday{};
  std::vector<Source> live;
  bool is_free = false;  // the other branches are read all the same: one of them may be wrong
  for (const Literal branch : reading.branches) {
    Source found = source_of(reader, branch, type, depth + 1);
    if (found.kind == Source::kNothing) continue;
    is_free = is_free || (found.kind == Source::kAnything && !reading.exactly_one);
    live.push_back(std::move(found));
  }
  if (is_free) return {Source::kAnything};
  if (live.empty()) return {};
  if (live.size() == 1) {
    const Source& only = live[0];
    if (only.kind == Source::kSaid && reader.said_by(only.literal).members.size() > kMostMembersInside) throw NotEveryday{};
    return std::move(live[0]);
  }
  if (type != kNumber && type != kString) throw NotEveryday{};
  return {Source::kAlternatives, kFree, std::move(live), reading.exactly_one};
}

}  // namespace

Literal target_of(Reader& reader, Literal literal) {
  uint32_t depth = 0;
  return target_of(reader, literal, depth);
}

Source source_of(Reader& reader, Literal literal, uint32_t type) { return source_of(reader, literal, type, 0); }

Required required_by(const Reading& reading) {
  Required result;
  if (reading.required.empty()) return result;
  const auto num_declared = static_cast<uint32_t>(reading.members.size());
  std::unordered_map<std::string_view, uint32_t> ids;
  for (uint32_t i = 0; i < num_declared; ++i) ids.emplace(reading.members[i].first, i);
  for (const std::string& name : reading.required) {
    const auto known = ids.find(name);
    if (known != ids.end()) {
      result.ids.push_back(known->second);
      continue;
    }
    if (reading.has_others) throw NotEveryday{};  // two things are said of it
    result.ids.push_back(num_declared + static_cast<uint32_t>(result.undeclared.size()));
    result.undeclared.push_back(name);
  }
  std::sort(result.ids.begin(), result.ids.end());
  return result;
}

void check_array(const Reading& reading) {
  if (reading.max_items < reading.min_items || reading.max_items == 0) throw NotEveryday{};
}

// ---- which schemas are everyday ones, and lead to no others ----

bool Closure::has(Literal literal) {
  if (!is_schema(literal)) return true;
  if (state(literal) == State::kUnknown) decide(literal);
  return state(literal) == State::kClosed;
}

// Valid until another schema is asked for.
Closure::State& Closure::state(Literal literal) {
  const size_t index = literal - kFirstSchema;
  if (index >= states_.size()) states_.resize(index + 1, State::kUnknown);
  return states_[index];
}

// At once for all that is reached from it and not yet decided.
void Closure::decide(Literal start) {
  std::vector<Literal> reached{start}, open, next;
  std::unordered_set<Literal> seen{start};
  std::unordered_map<Literal, std::vector<Literal>> from;
  for (size_t i = 0; i < reached.size(); ++i) {
    const Literal at = reached[i];
    next.clear();
    bool is_open = !leads_to(at, next);
    for (const Literal to : next) {
      if (!is_schema(to) || state(to) == State::kClosed) continue;
      if (state(to) == State::kOpen) {
        is_open = true;
        break;
      }
      from[to].push_back(at);
      if (seen.insert(to).second) reached.push_back(to);
    }
    if (is_open) open.push_back(at);
  }
  for (const Literal literal : open) state(literal) = State::kOpen;
  while (!open.empty()) {
    const Literal literal = open.back();
    open.pop_back();
    for (const Literal before : from[literal]) {
      if (state(before) == State::kUnknown) {
        state(before) = State::kOpen;
        open.push_back(before);
      }
    }
  }
  for (const Literal literal : reached) {
    if (state(literal) == State::kUnknown) state(literal) = State::kClosed;
  }
}

// Whether the schema by itself is one; `next`: where it leads to.
bool Closure::leads_to(Literal literal, std::vector<Literal>& next) {
  try {
    const Reading& reading = reader_.said_by(literal);
    if (reading.alias != kNoLiteral) {
      next.push_back(reading.alias);
      return true;
    }
    for (uint32_t type = kNull; type <= kObject; type <<= 1) {
      if ((reading.types & type) != 0) source_of(reader_, literal, type);
    }
    if (reading.branches.empty()) {
      if ((reading.types & kObject) != 0) required_by(reading);
      if ((reading.types & kArray) != 0) check_array(reading);
    }
    for (const auto& [name, value] : reading.members) next.push_back(value);
    next.insert(next.end(), {reading.others, reading.items});
    next.insert(next.end(), reading.branches.begin(), reading.branches.end());
    return true;
  } catch (const NotEveryday&) {
    return false;
  }
}

}  // namespace gd::everyday
