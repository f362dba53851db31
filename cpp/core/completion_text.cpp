// The way to the end as a text: what the distances of completion.cpp are the costs of.

#include <algorithm>

#include "completion.h"
#include "errors.h"

namespace gd {
namespace {

void check_length(size_t length, size_t max_bytes) {
  if (length > max_bytes) {
    throw LimitError("max_search", "the shortest document has more than " + std::to_string(max_bytes) + " bytes");
  }
}

}  // namespace

std::string Completion::text(ConfigId c, size_t max_bytes) {
  const std::span<const FrameId> threads = automaton_.threads(c);
  FrameId f = 0;
  Cost least = kFar;
  for (const FrameId thread : std::vector<FrameId>(threads.begin(), threads.end())) {
    const Cost cost = of_frame(thread);
    if (cost >= least) continue;
    least = cost;
    f = thread;
  }
  return text_of_frame(f, max_bytes);
}

std::string Completion::text_of_frame(FrameId f, size_t max_bytes) {
  std::string result;
  while (f != 0) {
    Frame frame = automaton_.frame(f);
    if (frame.kind == FrameKind::kWatched) {
      of_frame(f);
      if (const auto way = ways_.find(f); way != ways_.end()) {
        result.push_back(static_cast<char>(way->second.byte));
        f = way->second.next;
        continue;
      }
      frame = automaton_.frame(frame.extra);
    }
    result += local_text(frame, max_bytes);
    check_length(result.size(), max_bytes);
    f = frame.parent;
  }
  return result;
}

std::string Completion::local_text(const Frame& f, size_t max_bytes) {
  const std::string_view item_tail = std::string_view(grammar_.item_separator).substr(1);
  const std::string_view key_tail = std::string_view(grammar_.key_separator).substr(1);
  const auto tail = [&](std::string_view text) { return std::string(text.substr(std::min<size_t>(f.sub, text.size()))); };
  switch (f.kind) {
    case FrameKind::kTerminal:
      return expressions_.nullable(f.state) ? "" : shortest_.find(f.state).text;
    case FrameKind::kRootBefore:
      return value_text(grammar_.root, max_bytes);
    case FrameKind::kPart: {
      std::string result;
      const std::vector<NodeId>& parts = grammar_.nodes[f.state].choices;
      for (uint32_t i = f.extra; i < parts.size(); ++i) result += value_text(parts[i], max_bytes);
      return result;
    }
    case FrameKind::kObjectOpen:
    case FrameKind::kArrayOpen:
      return rest_of_container(f.state, !containers_.can_close(f.state), {}, max_bytes);
    case FrameKind::kKey: {
      const Entry e = key_entry(f.state, f.extra);
      return e.text + value_text(e.value, max_bytes) + rest_of_container(e.next, false, {}, max_bytes);
    }
    case FrameKind::kColon:
      return grammar_.key_separator + value_text(f.extra, max_bytes) + rest_of_container(f.state, false, {}, max_bytes);
    case FrameKind::kMemberBefore:
      return tail(key_tail) + value_text(f.extra, max_bytes) + rest_of_container(f.state, false, {}, max_bytes);
    case FrameKind::kMemberNext:
    case FrameKind::kItemNext:
      return rest_of_container(f.state, true, tail(item_tail), max_bytes);
    case FrameKind::kMemberValue:
    case FrameKind::kMemberAfter:
    case FrameKind::kItemValue:
    case FrameKind::kItemAfter:
      return rest_of_container(f.state, false, {}, max_bytes);
    case FrameKind::kRootValue:
    case FrameKind::kRootAfter:
    case FrameKind::kWatched:
      break;
  }
  return {};
}

std::string Completion::value_text(NodeId node, size_t max_bytes) {
  const Node& n = grammar_.nodes[node];
  automaton_.work().tick();
  if (!grammar_.nullable.empty() && grammar_.nullable[node]) return {};
  switch (n.kind) {
    case Node::kChain: {
      std::string result;
      for (const NodeId part : n.choices) result += value_text(part, max_bytes);
      return result;
    }
    case Node::kTerminal:
      return shortest_.find(automaton_.starts(node).terminals.front()).text;
    case Node::kChoice: {
      const NodeId best =
          *std::min_element(n.choices.begin(), n.choices.end(), [&](NodeId a, NodeId b) { return nodes_[a] < nodes_[b]; });
      return value_text(best, max_bytes);
    }
    case Node::kMembers:
    case Node::kElements: {
      if (n.unique) {
        const std::span<const FrameId> threads = automaton_.threads(automaton_.opened_array(node));
        if (threads.empty()) return {};
        return std::string("[").append(text_of_frame(FrameId(threads.front()), max_bytes));
      }
      const RegisterId reg = containers_.initial(node);
      std::string text = n.kind == Node::kMembers ? "{" : "[";
      return text.append(rest_of_container(reg, !containers_.can_close(reg), {}, max_bytes));
    }
  }
  return {};
}

// `must_take`: an entry comes next, behind `prefix` in place of a separator.
std::string Completion::rest_of_container(RegisterId reg, bool must_take, std::string_view prefix, size_t max_bytes) {
  const bool is_object = containers_.node(reg).kind == Node::kMembers;
  std::string result;
  for (bool first = must_take; first || !containers_.can_close(reg); first = false) {
    const Entry next = entry(reg);
    if (next.next == kNone) throw LimitError("max_search", "it takes too long to find how a container can be finished");
    result += first ? prefix : std::string_view(grammar_.item_separator);
    if (is_object) result += '"';
    result += next.text;
    result += value_text(next.value, max_bytes);
    check_length(result.size(), max_bytes);
    reg = next.next;
  }
  return result + (is_object ? '}' : ']');
}

}  // namespace gd
