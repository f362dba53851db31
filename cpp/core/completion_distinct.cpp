// Arrays of distinct items on the way to the end: the way without distinctness as long as it holds, else a search over threads.

#include <algorithm>
#include <queue>
#include <unordered_set>

#include "completion.h"

namespace gd {

// Whether the way to the end need not know of distinct items.
bool Completion::is_plain(FrameId f) {
  const Frame frame = automaton_.frame(f);
  return frame.kind != FrameKind::kWatched || automaton_.uniqueness().ends_plainly(frame);
}

bool Completion::is_beyond(ConfigId c, Cost limit) {
  if (!automaton_.has_unique_arrays() || c == Automaton::kDead || at(configs_, c, kUnknown) != kUnknown) return false;
  const std::span<const FrameId> threads = automaton_.threads(c);
  const std::vector<FrameId> frames(threads.begin(), threads.end());
  return std::all_of(frames.begin(), frames.end(), [&](FrameId f) {
    const Frame frame = automaton_.frame(f);
    return of_frame(frame.kind == FrameKind::kWatched ? frame.extra : f) > limit;
  });
}

Cost Completion::of_watched(FrameId f) {
  if (is_plain(f)) return of_frame(automaton_.frame(f).extra);
  search_watched(f);
  return at(frames_, f, kUnknown);
}

// From a thread for which distinctness matters to the nearest one for which it does not, or of which the distance is known: best first, by
// the bytes so far and what the distance would be without distinctness. Every thread on the way found is remembered.
void Completion::search_watched(FrameId start) {
  constexpr size_t kMostReached = 2000;
  struct Reached {
    FrameId frame = 0;
    uint32_t from = 0;
    uint32_t depth = 0;
    uint8_t byte = 0;
  };
  if (of_frame(automaton_.frame(start).extra) >= kFar) {  // not even without distinctness, as far as is known
    at(frames_, start, kUnknown) = kFar;
    return;
  }
  std::vector<Reached> reached{{start, 0, 0, 0}};
  using Open = std::tuple<Cost, uint32_t, uint32_t>;  // an estimate, negated depth, index in `reached`
  std::priority_queue<Open, std::vector<Open>, std::greater<>> queue;
  std::unordered_set<FrameId> seen{start};
  queue.emplace(0, 0, 0);
  uint32_t goal = 0;
  while (!queue.empty() && reached.size() < kMostReached) {
    automaton_.work().tick(20);
    const uint32_t index = std::get<2>(queue.top());
    queue.pop();
    const Reached r = reached[index];
    if (index > 0 && (is_plain(r.frame) || at(frames_, r.frame, kUnknown) != kUnknown)) {
      if (of_frame(r.frame) >= kFar) continue;
      goal = index;
      break;
    }
    const ConfigId config = automaton_.config_of(r.frame);
    for (const uint8_t byte : tried_bytes(r.frame)) {
      const ConfigId next = automaton_.step(config, byte);
      if (next == Automaton::kDead) continue;
      const std::span<const FrameId> threads = automaton_.threads(next);
      for (const FrameId f : std::vector<FrameId>(threads.begin(), threads.end())) {
        if (!seen.insert(f).second) continue;
        const Frame frame = automaton_.frame(f);
        const Cost estimate = of_frame(frame.kind == FrameKind::kWatched ? frame.extra : f);
        if (estimate >= kFar) continue;
        queue.emplace(plus(r.depth + 1, estimate), ~(r.depth + 1), static_cast<uint32_t>(reached.size()));
        reached.push_back({f, index, r.depth + 1, byte});
      }
    }
  }
  if (goal == 0) {
    at(frames_, start, kUnknown) = kFar;
    return;
  }
  std::vector<FrameId> frames;
  std::string text;
  for (uint32_t i = goal;; i = reached[i].from) {
    frames.push_back(reached[i].frame);
    if (i == 0) break;
    text.push_back(static_cast<char>(reached[i].byte));
  }
  std::reverse(frames.begin(), frames.end());
  std::reverse(text.begin(), text.end());
  std::vector<Cost> costs(frames.size(), kFar);
  costs.back() = of_frame(frames.back());
  texts_.complete(text, costs);
  for (size_t i = 0; i < text.size(); ++i) {
    at(frames_, frames[i], kUnknown) = costs[i];
    ways_[frames[i]] = {frames[i + 1], static_cast<uint8_t>(text[i])};
  }
}

// What the way without distinctness writes next, and some other bytes.
std::vector<uint8_t> Completion::tried_bytes(FrameId f) {
  constexpr size_t kMost = 24;
  std::vector<uint8_t> result;
  const Frame frame = automaton_.frame(f);
  const Frame inner = frame.kind == FrameKind::kWatched ? automaton_.frame(frame.extra) : frame;
  const bool is_nullable = inner.kind == FrameKind::kTerminal && expressions_.nullable(inner.state);
  if (!is_nullable) {
    if (const std::string text = local_text(inner, 1 << 20); !text.empty()) result.push_back(static_cast<uint8_t>(text[0]));
  }
  const ByteSet bytes = automaton_.first_bytes(automaton_.config_of(f));
  for (const uint8_t byte : shortest_.order()) {
    if (result.size() == kMost) break;
    if (bytes.contains(byte) && std::find(result.begin(), result.end(), byte) == result.end()) result.push_back(byte);
  }
  for (const char c : std::string_view("\"]},{[:")) {
    const uint8_t byte = static_cast<uint8_t>(c);
    if (bytes.contains(byte) && std::find(result.begin(), result.end(), byte) == result.end()) result.push_back(byte);
  }
  return result;
}

}  // namespace gd
