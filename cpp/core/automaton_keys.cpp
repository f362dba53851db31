// Keys of an object, byte by byte: which names and patterns they may still become, and which texts they must not be.
#include <algorithm>

#include "automaton.h"
#include "name_table.h"

namespace gd {

KeyId Automaton::first_key(RegisterId reg) {
  if (!containers_.any_key_may_come(reg)) return kNone;
  const Node& n = containers_.node(reg);
  KeyPosition k;
  k.high = static_cast<uint32_t>(n.names.size());
  std::vector<std::pair<uint32_t, ExprId>> patterns;
  for (const uint32_t p : containers_.pattern_menu(reg).patterns) patterns.emplace_back(p, regexes_[n.patterns[p]]);
  k.patterns = intern_patterns(std::move(patterns));
  return intern_key(k);
}

// A prefix is live if it can become an allowed name, or a pattern has more strings behind it than names and used keys take away.
bool Automaton::key_is_live(RegisterId reg, const KeyPosition& k) {
  if (containers_.any_name_may_come(reg, k.low, k.high)) return true;
  if (k.patterns == 0) return false;
  const Containers::PatternMenu& menu = containers_.pattern_menu(reg);
  for (const auto& [pattern, state] : pattern_lists_[k.patterns]) {
    const uint64_t total = expressions_.num_strings(state);
    if (total >= ExpressionPool::kManyStrings) return true;
    const auto at = std::find(menu.patterns.begin(), menu.patterns.end(), pattern) - menu.patterns.begin();
    if (!menu.spare[static_cast<size_t>(at)] && containers_.texts().is_within(k.text, alphabet_)) continue;
    const auto matches = [&](std::string_view rest) {
      ExprId e = state;
      for (const char c : rest) {
        if (!alphabet_.contains(static_cast<uint8_t>(c))) return false;
        e = expressions_.step(e, static_cast<uint8_t>(c));
      }
      return expressions_.nullable(e);
    };
    const NodeId node = containers_[reg].node;
    uint64_t taken = 0;
    for (uint32_t s = k.low; s < k.high; ++s) {
      taken += matches(containers_.sorted_names(node)[s].substr(k.depth)) ? 1 : 0;
    }
    for (const TextId used : containers_.used_texts(reg)) {
      if (containers_.texts().is_prefix(k.text, used)) taken += matches(containers_.texts().suffix(used, k.depth)) ? 1 : 0;
    }
    if (total > taken) return true;
  }
  return false;
}

bool Automaton::is_exact_key(RegisterId reg, const KeyPosition& k) {
  if (k.low < k.high) return true;
  if (k.text == TextPool::kFresh) return false;
  for (const auto& [pattern, state] : pattern_lists_[k.patterns]) {
    if (expressions_.num_strings(state) < ExpressionPool::kManyStrings) return true;
  }
  const std::vector<TextId>& used = containers_.used_texts(reg);
  return std::any_of(used.begin(), used.end(), [&](TextId t) { return containers_.texts().is_prefix(k.text, t); });
}

bool Automaton::is_new_key(RegisterId reg, const KeyPosition& k) {
  if (k.low < k.high || k.text == TextPool::kFresh) return false;
  const std::vector<TextId>& used = containers_.used_texts(reg);
  return std::none_of(used.begin(), used.end(),
                      [&](TextId t) { return t == TextPool::kFresh || containers_.texts().is_prefix(k.text, t); });
}

FrameId Automaton::forget_key(FrameId id) {
  Frame f = frames_[id];
  if (f.kind != FrameKind::kKey) return id;
  KeyPosition k = keys_[f.extra];
  if (k.patterns == 0 || k.text == TextPool::kFresh || is_exact_key(f.state, k)) return id;
  k.text = TextPool::kFresh;
  k.depth = 0;
  f.extra = intern_key(k);
  return intern(f);
}

bool Automaton::is_inside_scalars(ConfigId c) const {
  const std::span<const FrameId> ids = threads(c);
  return std::all_of(ids.begin(), ids.end(), [&](FrameId id) {
    const Frame& f = frames_[id];
    return (f.kind == FrameKind::kWatched ? frames_[f.extra] : f).kind == FrameKind::kTerminal;
  });
}

ConfigId Automaton::forget_texts(ConfigId c) {
  std::vector<FrameId> threads;
  bool changed = false;
  for (uint32_t i = 0; i < configs_[c].count; ++i) {
    const FrameId id = threads_[configs_[c].begin + i];
    const Frame f = frames_[id];
    if (f.kind == FrameKind::kWatched) {
      threads.push_back(uniqueness_.forgotten(f));
    } else if (f.kind == FrameKind::kKey && configs_[c].count == 1) {
      threads.push_back(forget_key(id));
    } else {
      threads.push_back(id);
    }
    changed = changed || threads.back() != id;
  }
  return changed ? intern_config(threads) : c;
}

ByteSet Automaton::exact_bytes(RegisterId reg, const KeyPosition& k) {
  ByteSet bytes;
  for (const auto& [pattern, state] : pattern_lists_[k.patterns]) {
    if (expressions_.num_strings(state) < ExpressionPool::kManyStrings) return ByteSet::all();
  }
  const std::vector<std::string_view>& names = containers_.sorted_names(containers_[reg].node);
  for (uint32_t s = k.low; s < k.high; ++s) {
    bytes.insert(names[s].size() == k.depth ? uint8_t{'"'} : static_cast<uint8_t>(names[s][k.depth]));
  }
  if (k.text == TextPool::kFresh) return bytes;
  for (const TextId used : containers_.used_texts(reg)) {
    if (!containers_.texts().is_prefix(k.text, used)) continue;
    const std::string rest = containers_.texts().suffix(used, k.depth);
    bytes.insert(rest.empty() ? uint8_t{'"'} : static_cast<uint8_t>(rest[0]));
  }
  return bytes;
}

KeyId Automaton::step_key(RegisterId reg, KeyId key, uint8_t byte, bool for_mask) {
  const KeyPosition k = keys_[key];
  KeyPosition next;
  const NameRange names = narrow(containers_.sorted_names(containers_[reg].node), {k.low, k.high, k.depth}, byte);
  next.low = names.low;
  next.high = names.high;
  next.depth = k.depth + 1;
  if (k.patterns != 0) {
    std::vector<std::pair<uint32_t, ExprId>> patterns;
    for (const auto& [pattern, state] : pattern_lists_[k.patterns]) {
      const ExprId stepped = expressions_.step(state, byte);
      if (stepped != ExpressionPool::kEmpty) patterns.emplace_back(pattern, stepped);
    }
    if (!patterns.empty()) {
      next.text = containers_.texts().append(k.text, byte);
      next.patterns = intern_patterns(std::move(patterns));
    }
  }
  if (next.low == next.high && next.patterns == 0) return kNone;
  if (!key_is_live(reg, next)) return kNone;
  if (for_mask && next.patterns != 0 && !is_exact_key(reg, next)) {
    next.text = TextPool::kFresh;
    next.depth = 0;
  }
  if (next.text == TextPool::kFresh) next.depth = 0;
  return intern_key(next);
}

void Automaton::step_in_key(const Frame& f, uint8_t byte, bool for_mask, std::vector<FrameId>& out) {
  if (byte == '"') {
    const KeyPosition k = keys_[f.extra];
    const Node& n = containers_.node(f.state);
    const NodeId node = containers_[f.state].node;
    const bool is_name = k.low < k.high && containers_.sorted_names(node)[k.low].size() == k.depth;
    if (is_name) {
      const std::vector<Containers::Entry> entries = containers_.entries(f.state, containers_.sorted_name_class(node, k.low));
      for (const Containers::Entry& entry : entries) push(out, FrameKind::kColon, 0, entry.next, entry.value, f.parent);
    } else if (k.patterns != 0) {
      const std::vector<TextId>& used = containers_.used_texts(f.state);
      const bool taken = k.text != TextPool::kFresh && std::binary_search(used.begin(), used.end(), k.text);
      for (const auto& [pattern, state] : std::vector(pattern_lists_[k.patterns])) {
        if (taken || !expressions_.nullable(state)) continue;
        const ClassId cls = static_cast<ClassId>(n.names.size()) + pattern;
        const std::vector<Containers::Entry> entries = containers_.entries(f.state, cls);
        for (const Containers::Entry& entry : entries) {
          const RegisterId next = containers_.with_used(entry.next, k.text);
          if (next != kNone) push(out, FrameKind::kColon, 0, next, entry.value, f.parent);
        }
      }
    }
  }
  // A quote is text too, behind a backslash: names and patterns know.
  const KeyId next = step_key(f.state, f.extra, byte, for_mask);
  if (next != kNone) push(out, FrameKind::kKey, 0, f.state, next, f.parent);
}

ConfigId Automaton::closed_name(RegisterId reg, uint32_t sorted_name, FrameId parent) {
  std::vector<FrameId> out;
  const ClassId cls = containers_.sorted_name_class(containers_[reg].node, sorted_name);
  const std::vector<Containers::Entry> entries = containers_.entries(reg, cls);
  for (const Containers::Entry& entry : entries) push(out, FrameKind::kColon, 0, entry.next, entry.value, parent);
  return out.empty() ? kDead : intern_config(out);
}

ConfigId Automaton::closed_key(RegisterId reg, uint32_t pattern, FrameId parent) {
  std::vector<FrameId> out;
  const ClassId cls = static_cast<ClassId>(containers_.node(reg).names.size()) + pattern;
  const std::vector<Containers::Entry> entries = containers_.entries(reg, cls);
  for (const Containers::Entry& entry : entries) {
    const RegisterId next = containers_.with_used(entry.next, TextPool::kFresh);
    if (next != kNone) push(out, FrameKind::kColon, 0, next, entry.value, parent);
  }
  return out.empty() ? kDead : intern_config(out);
}

}  // namespace gd
