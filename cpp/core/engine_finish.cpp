// Masks that keep the end of the document within reach: the mask of the configuration, less the tokens behind which the distance is more
// than a limit. Everything is made as without a limit; where a token is added, the distance behind it is asked for.

#include <algorithm>
#include <map>

#include "engine.h"
#include "errors.h"

namespace gd {

Completion& Engine::completion() {
  if (completion_ == nullptr) {
    const Limits& limits = automaton_->limits();
    automaton_->work().begin("max_compile_seconds", limits.max_compile_seconds);
    completion_ = std::make_unique<Completion>(*automaton_, &vocabulary_->trie());
    sharpen();
    completion_->margin(vocabulary_->most_begun());
    begin_work();
  }
  return *completion_;
}

Completion& Engine::byte_completion() {
  if (byte_completion_ == nullptr) {
    automaton_->work().begin("max_compile_seconds", automaton_->limits().max_compile_seconds);
    byte_completion_ = std::make_unique<Completion>(*automaton_, nullptr);
    begin_work();
  }
  return *byte_completion_;
}

Cost Engine::distance(ConfigId c) {
  const std::lock_guard lock(mutex_);
  begin_work();
  return completion().of_config(c);
}

bool Engine::is_far(ConfigId c, Cost limit) {
  return plus(completion().of_config(c), completion().margin(vocabulary_->most_begun())) <= limit;
}

bool Engine::has_room(ConfigId c, Cost limit) {
  const std::lock_guard lock(mutex_);
  begin_work();
  return is_far(c, limit);
}

bool Engine::leads_within(ConfigId c, ConfigId next, Cost limit) {
  const std::lock_guard lock(mutex_);
  begin_work();
  return is_far(c, limit) || completion().of_config(next) <= limit;
}

Cost Engine::byte_distance(ConfigId c) {
  const std::lock_guard lock(mutex_);
  begin_work();
  return byte_completion().of_config(c);
}

bool Engine::is_closing(ConfigId c, ConfigId next) {
  const std::lock_guard lock(mutex_);
  begin_work();
  return byte_completion().of_config(next) <= byte_completion().of_config(c);
}

std::string Engine::shortest_completion(ConfigId c, size_t max_bytes) {
  const std::lock_guard lock(mutex_);
  begin_work();
  if (const Cost length = byte_completion().of_config(c); length > max_bytes) {
    throw MatcherError("the shortest document has " + std::to_string(length) + " more bytes; max_bytes is " +
                       std::to_string(max_bytes));
  }
  return byte_completion().text(c, max_bytes);
}

// The shortest document, spelled by the fewest tokens: they may reach across values, so it can be nearer than its parts say.
void Engine::sharpen() {
  constexpr Cost kMostTokens = 20000;
  const ConfigId c = automaton_->start();
  if (completion_->of_config(c) > kMostTokens) return;
  const std::string text = completion_->text(c, size_t{kMostTokens} * 8);
  std::vector<Cost> costs(text.size() + 1, kFar);
  costs.back() = 0;
  completion_->texts().complete(text, costs);
  // The places that the witness passes, at the ends of its tokens, and the tokens that lead on from them.
  std::vector<std::pair<ConfigId, Cost>> way;
  std::vector<TokenId> tokens;
  ConfigId at = c;
  for (size_t i = 0; i < text.size();) {
    const std::string_view piece = std::string_view(text).substr(i, completion_->texts().first_step(text, i, costs));
    const uint32_t node = vocabulary_->trie().find(piece);
    way.emplace_back(at, costs[i]);
    tokens.push_back(vocabulary_->trie().token(vocabulary_->trie().first_token(node)));
    for (const char byte : piece) at = automaton_->step(at, static_cast<uint8_t>(byte));
    if (at == Automaton::kDead) return;  // distinct items: the text does not know of them
    i += piece.size();
  }
  if (!automaton_->is_accepting(at)) return;
  for (size_t i = 0; i < way.size(); ++i) witnesses_[way[i].first] = tokens[i];
  completion_->note(way);
}

// The first tokens of a way to the end. No table knows of a witness that was found for c itself, and near the limit what they add is on the
// safe side.
void Engine::add_witness(ConfigId c, uint32_t* mask) {
  constexpr Cost kNear = 2;
  constexpr size_t kMostBytes = size_t{1} << 20;
  const auto found = witnesses_.find(c);
  if (found != witnesses_.end() && measure_ == &tokens_measure_) {
    ConfigId at = c;
    for (const char byte : vocabulary_->text(found->second)) at = automaton_->step(at, static_cast<uint8_t>(byte));
    if (distances_->of_config(at) <= limit_) {
      set_token(mask, found->second);
      plan_.set(found->second);
    }
  }
  const bool is_near = plus(distances_->of_config(c), kNear) >= limit_;
  if (!is_near && !(is_narrowed_ && automaton_->has_unique_arrays())) return;
  // What is added otherwise is on the safe side, above all where items must be distinct, so the way itself may be missing.
  const std::string text = distances_->text(c, kMostBytes);
  const Trie& trie = vocabulary_->trie();
  ConfigId at = c;
  uint32_t node = trie.size();
  for (size_t i = 0; i < text.size(); ++i) {
    const uint8_t byte = static_cast<uint8_t>(text[i]);
    node = i == 0 ? trie.first_child(byte) : trie.child(node, byte);
    if (node == trie.size()) return;
    at = automaton_->step(at, byte);
    if (at == Automaton::kDead) return;
    if (trie.first_token(node) < trie.first_token(node + 1) && distances_->of_config(at) <= limit_) {
      set_tokens(trie, trie.first_token(node), trie.first_token(node + 1), mask);
      set_or_take_out(trie, node, true, plan_);
    }
  }
}

std::string Engine::forced_bytes(ConfigId c, size_t max_bytes) {
  const std::lock_guard lock(mutex_);
  begin_work();
  std::string text;
  while (text.size() < max_bytes && !automaton_->is_accepting(c)) {
    ConfigId only = Automaton::kDead;
    uint32_t num_live = 0;
    uint8_t forced = 0;
    ByteSet(automaton_->first_bytes(c)).for_each([&](uint8_t byte) {
      if (num_live > 1) return;
      const ConfigId next = automaton_->step(c, byte);
      if (next == Automaton::kDead) return;
      ++num_live;
      only = next;
      forced = byte;
    });
    if (num_live != 1) break;
    text.push_back(static_cast<char>(forced));
    c = only;
  }
  return text;
}

bool Engine::is_within(ConfigId c) {
  if (limit_ == kNoLimit) return true;
  // Too far even without distinct items: not worth a search. (A way that was found is added by itself.)
  if (!distances_->is_beyond(c, limit_) && distances_->of_config(c) <= limit_) return true;
  is_narrowed_ = true;
  return false;
}

void Engine::fill_within(ConfigId c, Cost limit, uint32_t* mask) {
  const std::lock_guard lock(mutex_);
  begin_work();
  if (is_far(c, limit)) return fill_plain(c, automaton_->forget_texts(c), mask);
  fill_measured(completion(), tokens_measure_, c, limit, mask);
}

void Engine::keep_closing(ConfigId c, uint32_t* mask) {
  const std::lock_guard lock(mutex_);
  begin_work();
  const Cost limit = byte_completion().of_config(c);
  std::vector<uint32_t> closing(vocabulary_->num_words());
  fill_measured(byte_completion(), bytes_measure_, c, limit, closing.data());
  bool any = false;
  for (size_t w = 0; w < closing.size(); ++w) {
    closing[w] &= mask[w];
    any = any || closing[w] != 0;
  }
  if (any) std::copy(closing.begin(), closing.end(), mask);
}

void Engine::fill_measured(Completion& completion, Measure& measure, ConfigId c, Cost limit, uint32_t* mask) {
  const ConfigId alike = automaton_->forget_texts(c);
  if (const auto known = measure.harmless.find(alike); known != measure.harmless.end() && known->second <= limit) {
    fill_plain(c, alike, mask);
    return;
  }
  const uint64_t id = (uint64_t{c} << 32) | limit;
  if (measure.narrowed.write(id, mask, vocabulary_->num_words())) return;
  struct Narrowing {  // ends also where a search is given up
    Engine& engine;
    ~Narrowing() { engine.limit_ = kNoLimit; }
  };
  {
    const Narrowing narrowing{*this};
    distances_ = &completion;
    measure_ = &measure;
    limit_ = limit;
    is_narrowed_ = false;
    plan_.clear();
    new_doubtful_.clear();
    const std::span<const FrameId> threads = automaton_->threads(alike);
    for (const FrameId f : std::vector<FrameId>(threads.begin(), threads.end())) add_thread(f, plan_);
    plan_.write(mask, vocabulary_->num_words());
    check_repeats(c, mask, plan_);
    if (!new_doubtful_.empty()) check_tokens(std::vector<TokenId>(new_doubtful_), c, mask, plan_);
    add_witness(c, mask);
  }
  if (is_narrowed_) {
    remember(measure.narrowed, id, mask);
    return;
  }
  const auto [known, is_new] = measure.harmless.try_emplace(alike, limit);
  known->second = std::min(known->second, limit);
}

// Tokens that lead into the item behind one whose value is forgotten: what is left may depend on it, so they are tried with the true text.
void Engine::note_unknown(ConfigId c, const Trie& trie, uint32_t node) {
  if (!automaton_->has_unique_arrays()) return;
  const std::span<const FrameId> threads = automaton_->threads(c);
  const bool is_unknown = std::any_of(threads.begin(), threads.end(), [&](FrameId id) {
    const Frame& f = automaton_->frame(id);
    return f.kind == FrameKind::kWatched && automaton_->uniqueness().has_unknown(f);
  });
  for (uint32_t t = trie.first_token(node); is_unknown && t < trie.first_token(node + 1); ++t)
    new_doubtful_.push_back(trie.token(t));
}

// The tokens that stay within the scalar with at most `limit` left of it.
void Engine::add_scalar_within(ExprId e, uint32_t run, Cost limit, MaskPlan& plan) {
  const std::shared_ptr<const ScalarDistances> distances = scalar_distances(e, run);
  for (const auto& [cost, set] : distances->sets) {
    if (cost > limit) break;
    plan.add(distances, set);
  }
}

std::shared_ptr<const ScalarDistances> Engine::scalar_distances(ExprId e, uint32_t run) {
  run = longest_run(run);
  const uint64_t id = (uint64_t{e} << 32) | run;
  if (const auto* known = measure_->scalars.find(id); known != nullptr) return *known;
  ExpressionPool& pool = automaton_->expressions();
  // Where the shortest texts do not depend on what was asked before, other grammars have the same distances.
  const bool is_shared = pool.has_exact_length(e);
  Hash128 key = pool.content_hash(e);
  key.feed(measure_ == &tokens_measure_ ? uint64_t{0xd157ULL} : uint64_t{0xb17eULL});
  key.feed(run);
  if (is_shared) {
    if (std::shared_ptr<const ScalarDistances> shared = vocabulary_->find_distances(key); shared != nullptr) {
      remember(measure_->scalars, id, shared, shared->memory_bytes());
      return shared;
    }
  }
  std::map<Cost, std::vector<uint32_t>> by_cost;
  std::vector<ExprId> states;
  for (const Trie* trie : tries(run)) {
    if (states.size() < trie->max_depth() + 2) states.resize(trie->max_depth() + 2);
    states[0] = e;
    for (uint32_t i = 0; i < trie->size();) {
      const ExprId next = pool.step(states[trie->depth(i)], trie->byte(i));
      if (next == ExpressionPool::kEmpty) {
        i = trie->end(i);
        continue;
      }
      if (trie->first_token(i) < trie->first_token(i + 1)) {
        std::vector<uint32_t>& tokens = by_cost[distances_->of_scalar(next)];
        for (uint32_t t = trie->first_token(i); t < trie->first_token(i + 1); ++t) tokens.push_back(trie->token(t));
      }
      states[trie->depth(i) + 1] = next;
      ++i;
    }
  }
  auto result = std::make_shared<ScalarDistances>();
  for (auto& [cost, tokens] : by_cost) {
    result->sets.emplace_back(cost, TokenSet::from_ids(std::move(tokens), vocabulary_->num_words()));
  }
  const std::shared_ptr<const ScalarDistances> distances = result;
  if (is_shared) vocabulary_->add_distances(key, distances);
  remember(measure_->scalars, id, distances, distances->memory_bytes());
  return distances;
}

// Whether a token that ends within the names of `in` can still become one of those that is near enough. `parent` waits for the object.
bool Engine::is_name_within(RegisterId reg, FrameId parent, const NameTable::Inside& in) {
  if (limit_ == kNoLimit) return true;
  const Cost outside = distances_->of_frame(parent);
  for (uint32_t s = in.low; s < in.high; ++s) {
    if (automaton_->containers().any_name_may_come(reg, s, s + 1) && plus(distances_->of_name(reg, s, in.depth), outside) <= limit_)
      return true;
  }
  is_narrowed_ = true;
  return false;
}

}  // namespace gd
