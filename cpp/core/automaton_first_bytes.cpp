// The bytes that may come next in a configuration: a superset of the live ones, found without stepping.

#include "automaton.h"

namespace gd {

void Automaton::compute_first_bytes(ConfigId c) {
  ByteSet bytes;
  for (uint32_t i = 0; i < configs_[c].count; ++i) {
    Frame f = frames_[threads_[configs_[c].begin + i]];
    if (f.kind == FrameKind::kWatched) f = frames_[f.extra];
    add_first_bytes(f, bytes);
  }
  configs_[c].first_bytes = bytes;
  configs_[c].has_first_bytes = true;
}

void Automaton::add_value_bytes(NodeId node, ByteSet& bytes) {
  const Starts& s = starts(node);
  for (const ExprId e : s.terminals) bytes.merge(expressions_.live_bytes(e));
  if (!s.objects.empty()) bytes.insert('{');
  if (!s.arrays.empty()) bytes.insert('[');
  for (const NodeId chain : s.chains) {
    Frame part{FrameKind::kPart, 0, chain, 0, 0};
    for (; may_skip_part(part); ++part.extra) add_value_bytes(part_of(part), bytes);
    add_value_bytes(part_of(part), bytes);
  }
}

void Automaton::add_item_bytes(const Frame& f, ByteSet& bytes) {
  const std::vector<Containers::Entry>& entries = containers_.entries(f.state, containers_.item_class(f.state));
  for (const Containers::Entry& entry : entries) add_value_bytes(entry.value, bytes);
}

void Automaton::add_first_bytes(const Frame& f, ByteSet& bytes) {
  if (f.kind == FrameKind::kTerminal) {
    bytes.merge(expressions_.live_bytes(f.state));
    return;
  }
  if (f.kind == FrameKind::kKey) {
    const KeyPosition& k = keys_[f.extra];
    const std::vector<std::string_view>& names = containers_.sorted_names(containers_[f.state].node);
    for (uint32_t s = k.low; s < k.high; ++s) {
      if (names[s].size() > k.depth) bytes.insert(static_cast<uint8_t>(names[s][k.depth]));
    }
    for (const auto& [pattern, state] : pattern_lists_[k.patterns]) bytes.merge(expressions_.live_bytes(state));
    bytes.insert('"');
    return;
  }
  if (f.kind == FrameKind::kPart) {
    add_value_bytes(part_of(f), bytes);
    return;
  }
  for (const char c : {' ', '\t', '\n', '\r'}) bytes.insert(static_cast<uint8_t>(c));
  for (const char c : grammar_.item_separator) bytes.insert(static_cast<uint8_t>(c));
  for (const char c : grammar_.key_separator) bytes.insert(static_cast<uint8_t>(c));
  switch (f.kind) {
    case FrameKind::kRootBefore:
      add_value_bytes(grammar_.root, bytes);
      return;
    case FrameKind::kMemberBefore:
      add_value_bytes(f.extra, bytes);
      return;
    case FrameKind::kArrayOpen:
      bytes.insert(']');
      add_item_bytes(f, bytes);
      return;
    case FrameKind::kItemNext:
      add_item_bytes(f, bytes);
      return;
    case FrameKind::kItemAfter:
      bytes.insert(']');
      return;
    case FrameKind::kObjectOpen:
      bytes.insert('"');
      bytes.insert('}');
      return;
    case FrameKind::kMemberNext:
      bytes.insert('"');
      return;
    case FrameKind::kMemberAfter:
      bytes.insert('}');
      return;
    default:
      return;
  }
}

}  // namespace gd
