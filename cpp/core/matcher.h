// The place of one sequence in its grammar: what the Python GrammarMatcher is.
//
// Not thread-safe by itself (one sequence, one matcher); matchers of one engine may run in different threads.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>
#include <vector>

#include "compiled_grammar.h"

namespace gd {

class Matcher {
 public:
  // `stop_tokens`: what ends the sequence; empty means the vocabulary's own. Throws MatcherError if one is out of range.
  Matcher(std::shared_ptr<CompiledGrammar> grammar, std::shared_ptr<const Vocabulary> vocabulary, std::vector<TokenId> stop_tokens);
  Matcher(const Matcher& other);  // fork: O(1), the history is shared
  Matcher& operator=(const Matcher&) = delete;
  ~Matcher() { release(); }

  // Each is one step of the history if it succeeds, and changes nothing if it returns false. Throws MatcherError for an id that the
  // vocabulary does not have.
  bool accept_token(TokenId token);
  bool accept_tokens(const std::vector<TokenId>& tokens);  // all or nothing
  bool accept_bytes(std::string_view bytes, size_t* num_accepted = nullptr);
  size_t validate_tokens(const std::vector<TokenId>& tokens) const;  // how many would be accepted

  void rollback(size_t num_steps);  // throws MatcherError if there are fewer steps
  void reset();
  size_t num_steps() const { return num_steps_; }

  bool is_accepting() const;  // the document is complete: a stop token is allowed
  bool is_terminated() const { return terminated_; }
  void fill(uint32_t* mask) const;
  ByteSet allowed_bytes() const;
  std::vector<Engine::Expectation> expectations() const;
  const Vocabulary& vocabulary() const { return engine_->vocabulary(); }
  Engine& engine() const { return *engine_; }

 private:
  // History as a list with shared tails, so that a fork copies nothing. Counted by hand: a chain of 100,000 smart pointers would be
  // released by as deep a recursion.
  struct Step {
    Step* previous;
    std::atomic<uint32_t> references;
    ConfigId before;  // the configuration before the step
    bool terminated_before;
  };

  void push(ConfigId next, bool terminated);
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
};

}  // namespace gd
