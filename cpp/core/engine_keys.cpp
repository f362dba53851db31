// The masks of keys. Names are looked up in tables (NameTable) and filtered by what may still come; patterns have the tables of
// terminals; keys that were used are taken out.

#include <algorithm>

#include "engine.h"

namespace gd {
namespace {

// All tokens at and below a node.
void take_out_tokens(const Trie& trie, uint32_t node, MaskPlan& plan) {
  for (uint32_t t = trie.first_token(node); t < trie.first_token(trie.end(node)); ++t) plan.take_out(trie.token(t));
}

}  // namespace

bool Engine::has_finite_pattern(const KeyPosition& k) {
  const auto patterns = automaton_->key_patterns(k);
  return std::any_of(patterns.begin(), patterns.end(), [&](const auto& entry) {
    return automaton_->expressions().num_strings(entry.second) < ExpressionPool::kManyStrings;
  });
}

// Whether a key has to be followed as long as it may be a name or a used one: what is left of the document counts, or a token may lead to
// where a pattern has so few strings left that names and used keys take all of them.
bool Engine::follows_keys(const KeyPosition& k) {
  if (limit_ != kNoLimit) return true;
  const auto patterns = automaton_->key_patterns(k);
  return !std::all_of(patterns.begin(), patterns.end(),
                      [&](const auto& entry) { return automaton_->expressions().never_runs_out(entry.second); });
}

std::shared_ptr<const NameTable> Engine::name_table(const Trie& trie, NodeId node, const NameRange& range, bool before_quote) {
  Hash128 key;
  key.feed(reinterpret_cast<uintptr_t>(&trie));
  key.feed((uint64_t{node} << 32) | range.depth);
  key.feed((uint64_t{range.low} << 32) | range.high);
  key.feed(before_quote ? 1 : 0);
  if (const auto* known = name_tables_.find(key); known != nullptr) return *known;
  const auto table = std::make_shared<const NameTable>(trie, automaton_->containers().sorted_names(node), range, before_quote);
  remember(name_tables_, key, table, table->memory_bytes());
  return table;
}

// Adds the tokens that spell allowed names. `over_patterns`: the plan holds what patterns allow, and a key that is a name is none of
// them, so what completes a name is taken out first.
void Engine::add_names(const Trie& trie, RegisterId reg, const NameRange& range, bool before_quote, FrameId parent,
                       bool over_patterns, MaskPlan& plan) {
  if (range.empty()) return;
  Containers& containers = automaton_->containers();
  const NodeId node = containers[reg].node;
  const std::shared_ptr<const NameTable> table = name_table(trie, node, range, before_quote);
  for (const NameTable::Inside& in : table->inside) {
    if (containers.any_name_may_come(reg, in.low, in.high) && is_name_within(reg, parent, in)) plan.set(in.token);
  }
  for (const NameTable::Exit& exit : table->exits) {
    const uint32_t below = trie.first_token(exit.quote + 1);
    if (over_patterns) take_out_tokens(trie, exit.quote, plan);
    if (!containers.any_name_may_come(reg, exit.name, exit.name + 1)) continue;
    const bool goes_on = trie.end(exit.quote) > exit.quote + 1;
    if (!goes_on && limit_ == kNoLimit) {
      for (uint32_t t = trie.first_token(exit.quote); t < below; ++t) plan.set(trie.token(t));
      continue;
    }
    const ConfigId behind = automaton_->closed_name(reg, exit.name, parent);
    if (is_within(behind)) {
      for (uint32_t t = trie.first_token(exit.quote); t < below; ++t) plan.set(trie.token(t));
    }
    if (goes_on) walk_below(trie, exit.quote, behind, plan);
  }
}

// Takes out the tokens that complete a used key: what a pattern allows, less what is there already.
void Engine::take_out_used(const Trie& trie, RegisterId reg, const KeyPosition& k, bool before_quote, MaskPlan& plan) {
  Containers& containers = automaton_->containers();
  for (const TextId used : containers.used_texts(reg)) {
    if (!containers.texts().is_prefix(k.text, used)) continue;
    std::string path;
    if (before_quote) path.push_back('"');
    path.append(containers.texts().suffix(used, k.depth)).push_back('"');
    if (const uint32_t node = trie.find(path); node != trie.size()) take_out_tokens(trie, node, plan);
  }
}

// A place where a key begins, behind at most `run` bytes of whitespace. False: not done, it has to be walked.
bool Engine::add_first_keys(const Frame& place, uint32_t run, MaskPlan& plan) {
  Containers& containers = automaton_->containers();
  const KeyId first = automaton_->first_key(place.state);
  if (first == kNone) return true;
  const KeyPosition k = automaton_->key(first);
  if (has_finite_pattern(k)) return false;
  const NameRange names{0, static_cast<uint32_t>(containers.sorted_names(containers[place.state].node).size()), 0};
  if (k.patterns == 0) {
    for (const Trie* trie : tries(run)) add_names(*trie, place.state, names, true, place.parent, false, plan);
    return true;
  }
  add_apart(plan, [&](MaskPlan& keys) {
    ExpressionPool& pool = automaton_->expressions();
    const ExprId quote = pool.literal_byte('"');
    for (const auto& [pattern, state] : std::vector(automaton_->key_patterns(k).begin(), automaton_->key_patterns(k).end())) {
      add_table(pool.concat(quote, pool.concat(state, quote)), run, automaton_->closed_key(place.state, pattern, place.parent),
                keys);
    }
    const FrameId key = automaton_->intern({FrameKind::kKey, 0, place.state, first, place.parent});
    for (const Trie* trie : tries(run)) {
      if (follows_keys(k)) {
        const uint32_t opened = trie->first_child('"');
        if (opened == trie->size()) continue;
        set_or_take_out(*trie, opened, is_within(automaton_->config_of(key)), keys);
        walk_exact_keys(key, *trie, opened + 1, trie->end(opened), keys);
        continue;
      }
      take_out_used(*trie, place.state, k, true, keys);
      add_names(*trie, place.state, names, true, place.parent, true, keys);
    }
  });
  return true;
}

// Inside a key.
void Engine::add_key(FrameId id, MaskPlan& plan) {
  const Frame f = automaton_->frame(id);
  const KeyPosition k = automaton_->key(f.extra);
  const Trie& trie = vocabulary_->trie();
  const NameRange names{k.low, k.high, k.depth};
  if (k.patterns == 0) {
    add_names(trie, f.state, names, false, f.parent, false, plan);
    return;
  }
  ExpressionPool& pool = automaton_->expressions();
  const std::vector patterns(automaton_->key_patterns(k).begin(), automaton_->key_patterns(k).end());
  const auto is_endless = [&](const auto& pattern) { return pool.num_strings(pattern.second) >= ExpressionPool::kManyStrings; };
  if (std::none_of(patterns.begin(), patterns.end(), is_endless)) {
    walk(trie, automaton_->config_of(id), plan, nullptr);
    return;
  }
  add_apart(plan, [&](MaskPlan& keys) {
    for (const auto& [pattern, state] : patterns) {
      if (!is_endless(std::make_pair(pattern, state))) continue;
      add_table(pool.concat(state, pool.literal_byte('"')), 0, automaton_->closed_key(f.state, pattern, f.parent), keys);
    }
    if (has_finite_pattern(k) || follows_keys(k)) {
      walk_exact_keys(id, trie, 0, trie.size(), keys);
    } else {
      take_out_used(trie, f.state, k, false, keys);
      add_names(trie, f.state, names, false, f.parent, true, keys);
    }
  });
}

void Engine::set_or_take_out(const Trie& trie, uint32_t node, bool is_kept, MaskPlan& plan) {
  for (uint32_t t = trie.first_token(node); t < trie.first_token(node + 1); ++t) {
    if (is_kept) {
      plan.set(trie.token(t));
    } else {
      plan.take_out(trie.token(t));
    }
  }
}

// A key is followed letter by letter as long as it may be a name or a used one: see `follows_keys`. Nodes [begin, end) of the trie are what may come at `id`.
void Engine::walk_exact_keys(FrameId id, const Trie& trie, uint32_t begin, uint32_t end, MaskPlan& plan) {
  if (begin == end) return;
  const Frame f = automaton_->frame(id);
  const uint32_t top = trie.depth(begin);
  struct Place {
    KeyId key = kNone;    // kNone: behind the key, all is exact
    ConfigId config = 0;  // behind the key
    ByteSet bytes;        // what may be followed from here
  };
  std::vector<Place> places(trie.max_depth() + 1);
  places[0] = {f.extra, 0, automaton_->exact_bytes(f.state, automaton_->key(f.extra))};
  for (uint32_t i = begin; i < end;) {
    const uint32_t depth = trie.depth(i) - top;
    const uint8_t byte = trie.byte(i);
    const Place& from = places[depth];
    Place to;
    bool live = from.key == kNone ? from.bytes.contains(byte) : true;
    if (from.key != kNone) {
      if (!from.bytes.contains(byte)) {  // leaves the exact keys: the table has spoken
        i = trie.end(i);
        continue;
      }
      to.key = automaton_->step_key(f.state, from.key, byte, true);
      if (to.key != kNone && !automaton_->is_exact_key(f.state, automaton_->key(to.key))) {
        i = trie.end(i);
        continue;
      }
      live = to.key != kNone || byte == '"';
    }
    if (live && to.key == kNone) {
      const ConfigId config = from.key == kNone
                                  ? from.config
                                  : automaton_->config_of(automaton_->intern({FrameKind::kKey, 0, f.state, from.key, f.parent}));
      to.config = automaton_->mask_step(config, byte);
      live = to.config != Automaton::kDead;
    }
    if (!live) {
      take_out_tokens(trie, i, plan);
      i = trie.end(i);
      continue;
    }
    ConfigId here = to.config;
    if (limit_ != kNoLimit && to.key != kNone) {
      here = automaton_->config_of(automaton_->intern({FrameKind::kKey, 0, f.state, to.key, f.parent}));
    }
    if (trie.first_token(i) < trie.first_token(i + 1)) set_or_take_out(trie, i, is_within(here), plan);
    if (trie.end(i) != i + 1) {
      to.bytes = to.key != kNone ? automaton_->exact_bytes(f.state, automaton_->key(to.key)) : automaton_->first_bytes(to.config);
      places[depth + 1] = to;
    }
    ++i;
  }
}

}  // namespace gd
