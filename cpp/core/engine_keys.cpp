// The masks of keys. Names are looked up in tables (NameTable) and filtered by what may still come; patterns have the tables of
// terminals; keys that were used are taken out.

#include <algorithm>

#include "engine.h"

namespace gd {

bool Engine::has_finite_pattern(const KeyPosition& k) {
  const auto patterns = automaton_->key_patterns(k);
  return std::any_of(patterns.begin(), patterns.end(), [&](const auto& entry) {
    return automaton_->expressions().num_strings(entry.second) < ExpressionPool::kManyStrings;
  });
}

const NameTable& Engine::name_table(const Trie& trie, NodeId node, const NameRange& range, bool before_quote) {
  Hash128 key;
  key.feed(reinterpret_cast<uintptr_t>(&trie));
  key.feed((uint64_t{node} << 32) | range.depth);
  key.feed((uint64_t{range.low} << 32) | range.high);
  key.feed(before_quote ? 1 : 0);
  std::unique_ptr<const NameTable>& entry = name_tables_[key];
  if (entry == nullptr) {
    entry = std::make_unique<const NameTable>(trie, *vocabulary_, automaton_->containers().sorted_names(node), range, before_quote);
    name_table_bytes_ += entry->memory_bytes();
  }
  return *entry;
}

// Adds the tokens that spell allowed names. `over_patterns`: the mask holds what patterns allow, and a key that is a name is none of
// them, so what completes a name is taken out first.
void Engine::add_names(const Trie& trie, RegisterId reg, const NameRange& range, bool before_quote, FrameId parent,
                       bool over_patterns, uint32_t* mask) {
  if (range.empty()) return;
  Containers& containers = automaton_->containers();
  const NodeId node = containers[reg].node;
  const NameTable& table = name_table(trie, node, range, before_quote);
  const std::vector<uint64_t>& allowed = containers.menu(reg).names;
  for (const NameTable::Inside& in : table.inside) {
    if (any_bit(allowed, in.low, in.high)) set_token(mask, in.token);
  }
  for (const NameTable::Exit& exit : table.exits) {
    if (over_patterns) {
      for (const TokenId token : exit.tokens) clear_token(mask, token);
      clear_tokens(exit.rests, 0, exit.rests.first_token(exit.rests.size()), mask);
    }
    if (!any_bit(allowed, exit.name, exit.name + 1)) continue;
    for (const TokenId token : exit.tokens) set_token(mask, token);
    if (exit.rests.size() > 0) walk(exit.rests, automaton_->closed_name(reg, exit.name, parent), mask, nullptr);
  }
}

// Takes out the tokens that complete a used key: what a pattern allows, less what is there already.
void Engine::clear_used(const Trie& trie, RegisterId reg, const KeyPosition& k, bool before_quote, uint32_t* mask) {
  Containers& containers = automaton_->containers();
  for (const TextId used : containers.used_texts(reg)) {
    if (!containers.texts().is_prefix(k.text, used)) continue;
    std::string path;
    if (before_quote) path.push_back('"');
    path.append(containers.texts().suffix(used, k.depth)).push_back('"');
    uint32_t low = 0;
    uint32_t high = trie.size();
    uint32_t node = kNone;
    for (const char c : path) {
      node = kNone;
      for (uint32_t i = low; i < high; i = trie.end(i)) {
        if (trie.byte(i) != static_cast<uint8_t>(c)) continue;
        node = i;
        break;
      }
      if (node == kNone) break;
      low = node + 1;
      high = trie.end(node);
    }
    if (node != kNone) clear_tokens(trie, trie.first_token(node), trie.first_token(trie.end(node)), mask);
  }
}

// A place where a key begins, behind at most `run` bytes of whitespace. False: not done, it has to be walked.
bool Engine::add_first_keys(const Frame& place, uint32_t run, uint32_t* mask) {
  Containers& containers = automaton_->containers();
  const KeyId first = automaton_->first_key(place.state);
  if (first == kNone) return true;
  const KeyPosition k = automaton_->key(first);
  if (has_finite_pattern(k)) return false;
  const NameRange names{0, static_cast<uint32_t>(containers.sorted_names(containers[place.state].node).size()), 0};
  if (k.patterns == 0) {
    for_each_trie(run, [&](const Trie& trie) { add_names(trie, place.state, names, true, place.parent, false, mask); });
    return true;
  }
  ExpressionPool& pool = automaton_->expressions();
  scratch_.assign(vocabulary_->num_words(), 0);
  const ExprId quote = pool.literal_byte('"');
  for (const auto& [pattern, state] : std::vector(automaton_->key_patterns(k).begin(), automaton_->key_patterns(k).end())) {
    const ExprId key = pool.concat(quote, pool.concat(state, quote));
    add_table(run == 0 ? key : pool.concat(whitespace_run(run), key), automaton_->closed_key(place.state, pattern, place.parent),
              scratch_.data());
  }
  for_each_trie(run, [&](const Trie& trie) {
    clear_used(trie, place.state, k, true, scratch_.data());
    add_names(trie, place.state, names, true, place.parent, true, scratch_.data());
  });
  // The run of whitespace alone is the caller's; the tables have added it again, which changes nothing.
  for (size_t w = 0; w < scratch_.size(); ++w) mask[w] |= scratch_[w];
  return true;
}

// Inside a key.
void Engine::add_key(FrameId id, uint32_t* mask) {
  const Frame f = automaton_->frame(id);
  const KeyPosition k = automaton_->key(f.extra);
  const Trie& trie = vocabulary_->trie();
  const NameRange names{k.low, k.high, k.depth};
  if (k.patterns == 0) {
    add_names(trie, f.state, names, false, f.parent, false, mask);
    return;
  }
  ExpressionPool& pool = automaton_->expressions();
  scratch_.assign(vocabulary_->num_words(), 0);
  bool endless = false;
  for (const auto& [pattern, state] : std::vector(automaton_->key_patterns(k).begin(), automaton_->key_patterns(k).end())) {
    if (pool.num_strings(state) < ExpressionPool::kManyStrings) continue;
    endless = true;
    add_table(pool.concat(state, pool.literal_byte('"')), automaton_->closed_key(f.state, pattern, f.parent), scratch_.data());
  }
  if (!endless) {
    walk(trie, automaton_->config_of(id), mask, nullptr);
    return;
  }
  if (has_finite_pattern(k)) {
    walk_exact_keys(id, scratch_.data());
  } else {
    clear_used(trie, f.state, k, false, scratch_.data());
    add_names(trie, f.state, names, false, f.parent, true, scratch_.data());
  }
  for (size_t w = 0; w < scratch_.size(); ++w) mask[w] |= scratch_[w];
}

// Where a finite pattern is alive, every key is followed letter by letter.
void Engine::walk_exact_keys(FrameId id, uint32_t* mask) {
  const Frame f = automaton_->frame(id);
  const Trie& trie = vocabulary_->trie();
  struct Place {
    KeyId key = kNone;    // kNone: behind the key, all is exact
    ConfigId config = 0;  // behind the key
    ByteSet bytes;        // what may be followed from here
  };
  std::vector<Place> places(trie.max_depth() + 1);
  places[0] = {f.extra, 0, automaton_->exact_bytes(f.state, automaton_->key(f.extra))};
  for (uint32_t i = 0; i < trie.size();) {
    const uint32_t depth = trie.depth(i);
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
      clear_tokens(trie, trie.first_token(i), trie.first_token(trie.end(i)), mask);
      i = trie.end(i);
      continue;
    }
    set_tokens(trie, trie.first_token(i), trie.first_token(i + 1), mask);
    if (trie.end(i) != i + 1) {
      to.bytes = to.key != kNone ? automaton_->exact_bytes(f.state, automaton_->key(to.key)) : automaton_->first_bytes(to.config);
      places[depth + 1] = to;
    }
    ++i;
  }
}

}  // namespace gd
