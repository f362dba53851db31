#include "shortest_text.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <unordered_map>

#include "errors.h"

namespace gd {
namespace {

// A* (Hart, Nilsson, Raphael 1968): the least whole length first, and of equal ones the one that has come farthest.
struct Open {
  uint32_t whole = 0;  // a lower bound of the whole length
  uint32_t length = 0;
  uint32_t index = 0;
  bool operator<(const Open& other) const {  // the top of the queue is the largest
    return std::tuple(other.whole, length, other.index) < std::tuple(whole, other.length, index);
  }
};

}  // namespace

ShortestTexts::ShortestTexts(ExpressionPool& pool, const ByteSet& alphabet) : pool_(pool) {
  alphabet.for_each([&](uint8_t byte) { order_.push_back(byte); });
  const auto rank = [](uint8_t byte) {
    if (byte >= 'a' && byte <= 'z') return 0;
    if (byte >= '0' && byte <= '9') return 1;
    if (byte >= 'A' && byte <= 'Z') return 2;
    return byte >= 0x80 ? 4 : 3;
  };
  std::stable_sort(order_.begin(), order_.end(), [&](uint8_t a, uint8_t b) { return rank(a) < rank(b); });
}

ShortestTexts::Path ShortestTexts::find(ExprId e) {
  if (!pool_.nullable(e) && !steps_.contains(e)) remember(search(e));
  return follow(e);
}

// The way up to where it is known: from there it goes on as it did before.
void ShortestTexts::remember(const Path& path) {
  size_t end = 0;
  while (end < path.text.size() && !pool_.nullable(path.states[end]) && !steps_.contains(path.states[end])) ++end;
  const ExprId behind = path.states[end];
  uint32_t length = pool_.nullable(behind) ? 0 : steps_.at(behind).length;
  for (size_t i = end; i-- > 0;) {
    steps_.emplace(path.states[i], Step{path.states[i + 1], ++length, static_cast<uint8_t>(path.text[i])});
  }
}

ShortestTexts::Path ShortestTexts::follow(ExprId e) const {
  Path path;
  path.states.push_back(e);
  while (!pool_.nullable(e)) {
    const Step& step = steps_.at(e);
    path.text.push_back(static_cast<char>(step.byte));
    path.states.push_back(e = step.next);
  }
  return path;
}

// A shortest string, or if that takes too long some string.
ShortestTexts::Path ShortestTexts::search(ExprId e) {
  struct Reached {
    ExprId state = 0;
    uint32_t from = 0;
    uint32_t length = 0;
    uint8_t byte = 0;
  };
  std::vector<Reached> reached{{e, 0, 0, 0}};
  std::unordered_map<ExprId, uint32_t> best{{e, 0}};
  std::priority_queue<Open> queue;
  queue.push({pool_.least_length(e), 0, 0});
  credit_ += kShareOfEach;
  while (!queue.empty()) {
    const uint32_t at = queue.top().index;
    queue.pop();
    const Reached r = reached[at];
    if (best[r.state] < r.length) continue;
    if (pool_.nullable(r.state) || steps_.contains(r.state)) {
      Path path;
      path.text.resize(r.length);
      path.states.resize(r.length + 1);
      for (uint32_t i = at, n = r.length;; i = reached[i].from, --n) {
        path.states[n] = reached[i].state;
        if (n == 0) return path;
        path.text[n - 1] = static_cast<char>(reached[i].byte);
      }
    }
    if (credit_ == 0) return some(e);
    --credit_;
    const ExprId* next = pool_.transitions(r.state);
    for (const uint8_t byte : order_) {
      const ExprId to = next[byte];
      if (to == ExpressionPool::kEmpty) continue;
      const auto [known, is_new] = best.try_emplace(to, r.length + 1);
      if (!is_new && known->second <= r.length + 1) continue;
      known->second = r.length + 1;
      const auto step = steps_.find(to);
      const uint32_t rest = step != steps_.end() ? step->second.length : pool_.least_length(to);
      if (rest >= ExpressionPool::kEndless) continue;
      queue.push({r.length + 1 + rest, r.length + 1, static_cast<uint32_t>(reached.size())});
      reached.push_back({to, at, r.length + 1, byte});
    }
  }
  return some(e);
}

ShortestTexts::Path ShortestTexts::some(ExprId e) {
  Path path{pool_.some_text(e), {e}};
  for (const char byte : path.text) path.states.push_back(e = pool_.step_towards(e, static_cast<uint8_t>(byte)));
  return path;
}

uint32_t ShortestTexts::length(ExprId e) {
  if (pool_.nullable(e)) return 0;
  if (pool_.has_exact_length(e)) return pool_.least_length(e);
  if (!steps_.contains(e)) remember(search(e));
  return steps_.at(e).length;
}

bool ShortestTexts::list(ExprId e, const std::function<bool(const std::string&)>& is_taken) {
  struct Begun {
    ExprId state = 0;
    std::string text;
  };
  std::vector<Begun> begun{{e, {}}};
  std::priority_queue<Open> queue;
  queue.push({length(e), 0, 0});
  while (!queue.empty()) {
    const Begun b = begun[queue.top().index];
    queue.pop();
    if (pool_.nullable(b.state) && is_taken(b.text)) return true;
    if (begun.size() > kMostListed) {
      throw LimitError("max_states",
                       "it takes too long to find a key that is not used yet; simplify patternProperties or propertyNames");
    }
    const ExprId* next = pool_.transitions(b.state);
    for (const uint8_t byte : order_) {
      const ExprId to = next[byte];
      if (to == ExpressionPool::kEmpty) continue;
      const uint32_t so_far = static_cast<uint32_t>(b.text.size()) + 1;
      queue.push({so_far + length(to), so_far, static_cast<uint32_t>(begun.size())});
      begun.push_back({to, b.text + static_cast<char>(byte)});
    }
  }
  return false;
}

}  // namespace gd
