// The place of one sequence in its grammar: what the Python GrammarMatcher is.
//
// Not thread-safe by itself (one sequence, one matcher); matchers of one engine may run in different threads.
//
// Matchers share an engine, and with it the memory of its states. Where others have filled it, a sequence goes on in a fresh one, to which
// its history is read again: it is refused only for what it needs by itself.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiled_grammar.h"

namespace gd {

class Matcher {
 public:
  // How long the sequence may become. A token is allowed only if the document can still be finished within the limit, so that it always is.
  struct Limit {
    uint32_t max_tokens = kNone;
    bool counts_stop = true;      // the stop token is one of them
    uint32_t closing_budget = 0;  // with so many tokens left, only what leads no farther from the end
  };

  // `stop_tokens`: what ends the sequence; empty means the vocabulary's own. Throws MatcherError if one is out of range, or if the
  // shortest document does not fit into the limit.
  Matcher(std::shared_ptr<CompiledGrammar> grammar, std::shared_ptr<const Vocabulary> vocabulary, std::vector<TokenId> stop_tokens,
          const Limit& limit);
  Matcher(const Matcher& other);  // fork: O(1), the history is shared
  Matcher& operator=(const Matcher&) = delete;
  ~Matcher() { release(); }

  // Each adds to the history if it succeeds (a step for each token, or one for the bytes), and changes nothing if it returns false.
  // Throws MatcherError for an id that the vocabulary does not have.
  bool accept_token(TokenId token);
  bool accept_tokens(const std::vector<TokenId>& tokens);  // all or nothing
  // `num_tokens`: as how many tokens the bytes count.
  bool accept_bytes(std::string_view bytes, uint32_t num_tokens = 0, size_t* num_accepted = nullptr);
  size_t validate_tokens(const std::vector<TokenId>& tokens) const;  // how many would be accepted

  void rollback(size_t num_steps);  // throws MatcherError if there are fewer steps
  void reset();
  size_t num_steps() const { return num_steps_; }

  bool is_accepting() const;  // the document is complete: a stop token is allowed
  bool is_terminated() const { return terminated_; }
  void fill(uint32_t* mask) const;
  ByteSet allowed_bytes() const;
  std::vector<Engine::Expectation> expectations() const;
  // The length of the longest run of these bytes that may come next, at most `max_length`. Nothing is said of the tokens left.
  size_t longest_run(const ByteSet& bytes, size_t max_length) const;
  // From here on, no limit of tokens.
  void drop_limit() { limit_ = {}; }

  // The way to the end: an upper bound in tokens (without a stop token), the fewest bytes, and a text of about that length.
  Cost distance() const;
  Cost byte_distance() const;
  std::string shortest_completion(size_t max_bytes) const;
  std::string forced_bytes(size_t max_bytes) const;
  std::string text() const;  // all that was accepted, linear in its length
  uint32_t tokens_left() const { return limit_.max_tokens == kNone ? kNone : limit_.max_tokens - num_tokens_; }
  const Vocabulary& vocabulary() const { return engine_->vocabulary(); }
  const std::vector<TokenId>& stop_tokens() const { return stop_tokens_; }  // sorted
  const Limit& limit() const { return limit_; }
  Engine& engine() const { return *engine_; }

 private:
  // History as a list with shared tails, so that a fork copies nothing. Counted by hand: a chain of 100,000 smart pointers would be
  // released by as deep a recursion.
  struct Step {
    Step* previous;
    std::atomic<uint32_t> references;
    ConfigId before;  // the configuration before the step
    bool terminated_before;
    uint32_t tokens_before;
    TokenId token;  // kNone: `text` was read as bytes
    std::unique_ptr<const std::string> text;
  };

  void push(ConfigId next, bool terminated, uint32_t num_tokens, TokenId token, std::string_view text);
  bool is_closing() const { return is_limited() && tokens_left() <= limit_.closing_budget; }
  bool is_limited() const { return limit_.max_tokens != kNone; }
  // The distance that may be left behind `num_tokens` more; nullopt if there is no room for them.
  std::optional<Cost> distance_after(uint32_t num_tokens) const;
  bool take_token(TokenId token);
  bool go_on(std::string_view bytes, uint32_t num_tokens, TokenId token, size_t* num_accepted);
  void fill_here(uint32_t* mask) const;
  size_t longest_run_here(const ByteSet& bytes, size_t max_length) const;
  Matcher(const Matcher& like, std::shared_ptr<Engine> engine);
  Matcher read_again(std::shared_ptr<Engine> engine) const;
  void take_place_of(Matcher& other);
  std::vector<const Step*> history() const;  // the first step first
  template <class Ask>
  auto with_room(const Ask& ask) const;
  template <class Ask>
  auto ask_like(const Ask& ask) const;
  template <class Take>
  bool step_with_room(const Take& take);
  void check_limit();
  bool is_stop(TokenId token) const;
  void check_range(TokenId token) const;
  void release();

  std::shared_ptr<CompiledGrammar> grammar_;
  std::shared_ptr<Engine> engine_;
  std::vector<TokenId> stop_tokens_;
  ConfigId config_;
  bool terminated_ = false;
  Step* last_ = nullptr;
  size_t num_steps_ = 0;
  Limit limit_;
  uint32_t num_tokens_ = 0;
};

}  // namespace gd
