#include "matcher.h"

#include <algorithm>
#include <cstring>

#include "errors.h"

namespace gd {

Matcher::Matcher(std::shared_ptr<CompiledGrammar> grammar, std::shared_ptr<const Vocabulary> vocabulary,
                 std::vector<TokenId> stop_tokens, const Limit& limit)
    : grammar_(std::move(grammar)),
      engine_(grammar_->engine(vocabulary)),
      stop_tokens_(std::move(stop_tokens)),
      config_(engine_->start()),
      limit_(limit) {
  if (stop_tokens_.empty()) stop_tokens_ = this->vocabulary().stop_tokens();
  for (const TokenId token : stop_tokens_) check_range(token);
  std::sort(stop_tokens_.begin(), stop_tokens_.end());
  if (is_limited()) check_limit();
}

void Matcher::check_limit() {
  const Cost needed = plus(engine_->distance(config_), limit_.counts_stop ? 1 : 0);
  if (needed >= kFar) {
    throw LimitError("max_search", "it takes too long to find how a document can be finished, so no limit of tokens can be kept");
  }
  if (needed > limit_.max_tokens) {
    throw MatcherError("max_tokens is " + std::to_string(limit_.max_tokens) + ", but the shortest document that is known needs " +
                       std::to_string(needed) + " tokens" + (limit_.counts_stop ? ", the stop token included" : "") +
                       "; raise max_tokens to that, or allow a shorter document");
  }
}

std::optional<Cost> Matcher::distance_after(uint32_t num_tokens) const {
  const uint32_t left = tokens_left();
  const uint32_t needed = num_tokens + (limit_.counts_stop ? 1 : 0);
  if (left < needed) return std::nullopt;
  return left - needed;
}

Matcher::Matcher(const Matcher& other)
    : grammar_(other.grammar_),
      engine_(other.engine_),
      stop_tokens_(other.stop_tokens_),
      config_(other.config_),
      terminated_(other.terminated_),
      last_(other.last_),
      num_steps_(other.num_steps_),
      limit_(other.limit_),
      num_tokens_(other.num_tokens_) {
  if (last_ != nullptr) last_->references.fetch_add(1, std::memory_order_relaxed);
}

void Matcher::release() {
  Step* step = last_;
  while (step != nullptr && step->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    Step* previous = step->previous;
    delete step;
    step = previous;
  }
  last_ = nullptr;
  num_steps_ = 0;
}

void Matcher::push(ConfigId next, bool terminated, uint32_t num_tokens, TokenId token, std::string_view text) {
  auto bytes = token == kNone ? std::make_unique<const std::string>(text) : nullptr;
  last_ = new Step{last_, 1, config_, terminated_, num_tokens_, token, std::move(bytes)};
  num_tokens_ += num_tokens;
  ++num_steps_;
  config_ = next;
  terminated_ = terminated;
}

bool Matcher::is_stop(TokenId token) const { return std::binary_search(stop_tokens_.begin(), stop_tokens_.end(), token); }

void Matcher::check_range(TokenId token) const {
  if (token >= vocabulary().size()) {
    throw MatcherError("token " + std::to_string(token) + " is out of range: the vocabulary has " +
                       std::to_string(vocabulary().size()) + " ids");
  }
}

// ---- room for states ------------------------------------------------------------------------------------------------

namespace {

bool is_for_room(const LimitError& error) { return error.limit == "max_memory_bytes" || error.limit == "max_states"; }

}  // namespace

// At the beginning of a document, with no limit.
Matcher::Matcher(const Matcher& like, std::shared_ptr<Engine> engine)
    : grammar_(like.grammar_), engine_(std::move(engine)), stop_tokens_(like.stop_tokens_), config_(engine_->start()) {}

// This sequence in another engine. Throws LimitError where that is too small as well, or may need more tokens to the end than are left.
Matcher Matcher::read_again(std::shared_ptr<Engine> engine) const {
  Matcher result(*this, std::move(engine));
  const std::vector<const Step*> steps = history();
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& step = *steps[i];
    const bool ends = i + 1 == steps.size() ? terminated_ : steps[i + 1]->terminated_before;
    const uint32_t tokens_behind = i + 1 == steps.size() ? num_tokens_ : steps[i + 1]->tokens_before;
    const std::string_view bytes = step.token == kNone ? std::string_view(*step.text) : vocabulary().text(step.token);
    const ConfigId next = ends ? result.config_ : result.engine_->advance(result.config_, bytes);
    result.push(next, ends, tokens_behind - step.tokens_before, step.token, bytes);
  }
  result.limit_ = limit_;
  if (is_limited() && !terminated_) {
    const std::optional<Cost> most = result.distance_after(0);
    if (!most.has_value() || result.engine_->distance(result.config_) > *most) {
      throw LimitError("max_memory_bytes",
                       "others have filled the automaton of this grammar and vocabulary, and a fresh one may need more "
                       "tokens to the end than are left");
    }
  }
  return result;
}

// The answer of the matcher or, where there is no room for more states, of its like in another engine: the one that new sequences begin
// with, then one that nobody else has.
template <class Ask>
auto Matcher::with_room(const Ask& ask) const {
  try {
    return ask(*this);
  } catch (const LimitError& error) {
    if (!is_for_room(error) || !engine_->is_full()) throw;
  }
  return ask_like(ask);
}

template <class Ask>
auto Matcher::ask_like(const Ask& ask) const {
  try {
    Matcher moved = read_again(grammar_->engine(engine_->shared_vocabulary()));
    return ask(moved);
  } catch (const LimitError& error) {
    if (!is_for_room(error)) throw;
  }
  Matcher moved = read_again(grammar_->engine_of_its_own(engine_->shared_vocabulary()));
  return ask(moved);
}

// A step, with which the matcher moves to the other engine.
template <class Take>
bool Matcher::step_with_room(const Take& take) {
  try {
    return take(*this);
  } catch (const LimitError& error) {
    if (!is_for_room(error) || !engine_->is_full()) throw;
  }
  return ask_like([&](Matcher& moved) {
    const bool is_taken = take(moved);
    take_place_of(moved);
    return is_taken;
  });
}

void Matcher::take_place_of(Matcher& other) {
  std::swap(engine_, other.engine_);
  std::swap(config_, other.config_);
  std::swap(terminated_, other.terminated_);
  std::swap(last_, other.last_);
  std::swap(num_steps_, other.num_steps_);
  std::swap(num_tokens_, other.num_tokens_);
}

// ---- steps ----------------------------------------------------------------------------------------------------------

bool Matcher::accept_token(TokenId token) {
  return step_with_room([&](Matcher& self) { return self.take_token(token); });
}

bool Matcher::take_token(TokenId token) {
  check_range(token);
  if (terminated_) return false;
  if (is_stop(token)) {
    if (!engine_->is_accepting(config_)) return false;
    push(config_, true, 1, token, {});
    return true;
  }
  if (!vocabulary().is_text(token)) return false;
  return go_on(vocabulary().text(token), 1, token, nullptr);
}

bool Matcher::go_on(std::string_view bytes, uint32_t num_tokens, TokenId token, size_t* num_accepted) {
  const ConfigId next = engine_->advance(config_, bytes, num_accepted);
  if (next == Automaton::kDead) return false;
  if (is_limited()) {
    const std::optional<Cost> most = distance_after(num_tokens);
    if (!most.has_value() || !engine_->leads_within(config_, next, *most)) return false;
    if (token == kNone) {
      if (is_closing() && !engine_->is_closing(config_, next)) return false;
    } else if (is_closing() || !engine_->has_room(config_, *most)) {
      // Near the limit the mask keeps to the safe side: it decides, so that what it forbids is not accepted.
      std::vector<uint32_t> mask(vocabulary().num_words());
      fill(mask.data());
      if (!has_token(mask.data(), token)) return false;
    }
  }
  push(next, false, num_tokens, token, bytes);
  return true;
}

bool Matcher::accept_tokens(const std::vector<TokenId>& tokens) {
  for (const TokenId token : tokens) check_range(token);
  Matcher probe(*this);  // so that a limit passed on the way leaves this one as it was
  for (const TokenId token : tokens) {
    if (!probe.accept_token(token)) return false;
  }
  take_place_of(probe);
  return true;
}

size_t Matcher::validate_tokens(const std::vector<TokenId>& tokens) const {
  for (const TokenId token : tokens) check_range(token);
  Matcher probe(*this);
  size_t n = 0;
  while (n < tokens.size() && probe.accept_token(tokens[n])) ++n;
  return n;
}

bool Matcher::accept_bytes(std::string_view bytes, uint32_t num_tokens, size_t* num_accepted) {
  if (terminated_) {
    if (num_accepted != nullptr) *num_accepted = 0;
    return false;
  }
  return step_with_room([&](Matcher& self) { return self.go_on(bytes, num_tokens, kNone, num_accepted); });
}

void Matcher::rollback(size_t num_steps) {
  if (num_steps > num_steps_) {
    throw MatcherError("can't roll back " + std::to_string(num_steps) + " steps: only " + std::to_string(num_steps_) +
                       " were accepted");
  }
  for (; num_steps > 0; --num_steps) {
    Step* step = last_;
    config_ = step->before;
    terminated_ = step->terminated_before;
    num_tokens_ = step->tokens_before;
    last_ = step->previous;
    --num_steps_;
    // This matcher's hold moves from the step to the one before it: taken first, so that nobody else can free it in between.
    if (last_ != nullptr) last_->references.fetch_add(1, std::memory_order_relaxed);
    if (step->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      if (last_ != nullptr) last_->references.fetch_sub(1, std::memory_order_relaxed);  // the step's own hold goes with it
      delete step;
    }
  }
}

void Matcher::reset() {
  std::shared_ptr<Engine> engine = grammar_->engine(engine_->shared_vocabulary());  // a fresh one, if this one is full
  release();
  engine_ = std::move(engine);
  config_ = engine_->start();
  terminated_ = false;
  num_tokens_ = 0;
  if (is_limited()) check_limit();  // of the new engine
}

std::vector<const Matcher::Step*> Matcher::history() const {
  std::vector<const Step*> steps;
  for (const Step* step = last_; step != nullptr; step = step->previous) steps.push_back(step);
  std::reverse(steps.begin(), steps.end());
  return steps;
}

std::string Matcher::text() const {
  std::string result;
  for (const Step* step : history()) {
    if (step->token == kNone) {
      result += *step->text;
    } else if (vocabulary().is_text(step->token) && !is_stop(step->token)) {
      result += vocabulary().text(step->token);
    }
  }
  return result;
}

bool Matcher::is_accepting() const { return terminated_ || engine_->is_accepting(config_); }

void Matcher::fill(uint32_t* mask) const {
  with_room([&](const Matcher& self) { self.fill_here(mask); });
}

void Matcher::fill_here(uint32_t* mask) const {
  if (terminated_) {
    std::memset(mask, 0, vocabulary().num_words() * sizeof(uint32_t));
  } else {
    if (!is_limited()) {
      engine_->fill(config_, mask);
    } else if (const std::optional<Cost> most = distance_after(1); most.has_value()) {
      engine_->fill_within(config_, *most, mask);
      if (is_closing()) engine_->keep_closing(config_, mask);
    } else {
      std::memset(mask, 0, vocabulary().num_words() * sizeof(uint32_t));
    }
    for (const TokenId token : stop_tokens_) clear_token(mask, token);
  }
  if (!is_accepting()) return;
  for (const TokenId token : stop_tokens_) set_token(mask, token);
}

ByteSet Matcher::allowed_bytes() const {
  if (terminated_) return {};
  return with_room([](const Matcher& self) { return self.engine_->allowed_bytes(self.config_); });
}

std::vector<Engine::Expectation> Matcher::expectations() const {
  if (terminated_) return {};
  return with_room([](const Matcher& self) { return self.engine_->expectations(self.config_); });
}

Cost Matcher::distance() const {
  if (terminated_) return 0;
  return with_room([](const Matcher& self) { return self.engine_->distance(self.config_); });
}

Cost Matcher::byte_distance() const {
  if (terminated_) return 0;
  return with_room([](const Matcher& self) { return self.engine_->byte_distance(self.config_); });
}

std::string Matcher::shortest_completion(size_t max_bytes) const {
  if (terminated_) return {};
  return with_room([&](const Matcher& self) { return self.engine_->shortest_completion(self.config_, max_bytes); });
}

std::string Matcher::forced_bytes(size_t max_bytes) const {
  if (terminated_) return {};
  return with_room([&](const Matcher& self) { return self.engine_->forced_bytes(self.config_, max_bytes); });
}

size_t Matcher::longest_run(const ByteSet& bytes, size_t max_length) const {
  if (terminated_) return 0;
  return with_room([&](const Matcher& self) { return self.longest_run_here(bytes, max_length); });
}

size_t Matcher::longest_run_here(const ByteSet& bytes, size_t max_length) const {
  constexpr size_t kMaxConfigs = 16;  // behind runs of one length; more are not followed, and the answer is `max_length`
  std::vector<ConfigId> behind = {config_};
  for (size_t length = 0; length < max_length; ++length) {
    std::vector<ConfigId> next;
    for (const ConfigId c : behind) {
      bytes.for_each([&](uint8_t byte) {
        const char text = static_cast<char>(byte);
        next.push_back(engine_->advance(c, {&text, 1}));
      });
    }
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    std::erase(next, Automaton::kDead);
    if (next.empty()) return length;
    if (next.size() > kMaxConfigs) break;
    behind = std::move(next);
  }
  return max_length;
}

}  // namespace gd
