// One grammar with one vocabulary: the automaton, and the masks of its configurations. Shared by all matchers of the pair.
//
// Thread-safe: every public member takes the engine's lock. A configuration id stays valid as long as the engine.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "automaton.h"
#include "name_table.h"
#include "terminal_table.h"
#include "vocabulary.h"

namespace gd {

class Engine {
 public:
  // The automaton is one of `grammar`, over the alphabet of `vocabulary`.
  Engine(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const Vocabulary> vocabulary,
         std::unique_ptr<Automaton> automaton);

  const Vocabulary& vocabulary() const { return *vocabulary_; }
  const std::shared_ptr<const Vocabulary>& shared_vocabulary() const { return vocabulary_; }
  ConfigId start() const { return automaton_->start(); }

  // The configuration behind `bytes`, Automaton::kDead if they leave the language. `num_accepted` (may be null) tells how many
  // bytes were accepted.
  ConfigId advance(ConfigId from, std::string_view bytes, size_t* num_accepted = nullptr);
  bool is_accepting(ConfigId c);
  // Writes the mask of text tokens: vocabulary().num_words() words. Stop tokens are left to the caller.
  void fill(ConfigId c, uint32_t* mask);
  ByteSet allowed_bytes(ConfigId c);

  // One line for each thread, for messages: what stands there, in words.
  struct Expectation {
    FrameKind kind{};
    NodeId node = 0;                 // the container or value that the thread is in, kNone at the root
    std::vector<std::string> names;  // names that may come or be completed
    bool other_names = false;        // and others
    bool can_close = false;
  };
  std::vector<Expectation> expectations(ConfigId c);

  // Turns the memory of masks off or on (for tests: answers must not depend on it) and forgets what is remembered.
  void set_memo_limit(size_t bytes);
  size_t memory_bytes();
  // Whether the automaton has grown so much that new sequences should begin with a fresh engine.
  bool is_full();

 private:
  struct Place {  // of a walk: the configuration at one depth, and the bytes that may lead on from it
    ConfigId config = 0;
    ByteSet bytes;
  };

  void fill_remembered(ConfigId c, uint32_t* mask);
  void compute(ConfigId c, uint32_t* mask);
  void add_thread(FrameId f, uint32_t* mask, std::vector<TokenId>& doubtful);
  void add_terminal(ExprId e, FrameId parent, uint32_t* mask);
  void add_counted(const TerminalTable& table, const ExpressionPool::CountedRun& run, ExprId e, ConfigId rest, uint32_t* mask);
  void add_table(ExprId e, ConfigId rest, uint32_t* mask);
  void add_place(const Frame& f, size_t tail_size, uint32_t* mask);
  void add_value(NodeId node, const Frame& waiting, uint32_t run, uint32_t* mask);
  ExprId whitespace_run(uint32_t run);
  // Calls visit(trie) for the tries of what may follow here: all tokens, and what is behind a run of at most `run` bytes of whitespace.
  template <class Visit>
  void for_each_trie(uint32_t run, Visit visit) {
    visit(vocabulary_->trie());
    const WhitespaceRuns& runs = vocabulary_->whitespace_runs();
    if (run >= runs.rests.size()) {
      visit(runs.all_rests);
      return;
    }
    for (uint32_t n = 1; n <= run; ++n) visit(runs.rests[n]);
  }
  // engine_keys.cpp
  void add_key(FrameId f, uint32_t* mask);
  bool add_first_keys(const Frame& place, uint32_t run, uint32_t* mask);
  void add_names(const Trie& trie, RegisterId reg, const NameRange& range, bool before_quote, FrameId parent, bool over_patterns,
                 uint32_t* mask);
  const NameTable& name_table(const Trie& trie, NodeId node, const NameRange& range, bool before_quote);
  bool has_finite_pattern(const KeyPosition& k);
  void clear_used(const Trie& trie, RegisterId reg, const KeyPosition& k, bool before_quote, uint32_t* mask);
  void walk(const Trie& trie, ConfigId from, uint32_t* mask, const ByteSet* first_bytes);
  void walk_exact_keys(FrameId f, uint32_t* mask);
  void check_repeats(ConfigId c, uint32_t* mask);
  void check_doubtful(ConfigId c, ConfigId alike, uint32_t* mask);
  void check_tokens(const std::vector<TokenId>& tokens, ConfigId c, uint32_t* mask);
  // engine_unique.cpp
  void add_watched(const Frame& watch, FrameId id, uint32_t* mask, std::vector<TokenId>& doubtful);
  void clear_barred(const Trie& trie, ConfigId from, ConfigId plain, uint32_t* mask, std::vector<TokenId>& doubtful);
  ByteSet doubtful_bytes(ConfigId c, ConfigId plain);
  bool is_settled(ConfigId c, ConfigId plain);
  bool is_doubtful(ConfigId c);
  const TerminalTable& table(ExprId e);
  const TerminalTable* counted_table(ExprId e, const ExpressionPool::CountedRun*& run);

  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<const Vocabulary> vocabulary_;
  std::mutex mutex_;
  std::unique_ptr<Automaton> automaton_;
  std::unordered_map<ExprId, std::shared_ptr<const TerminalTable>> tables_;
  std::unordered_map<ExprId, std::pair<ExpressionPool::CountedRun, std::shared_ptr<const TerminalTable>>> counted_;
  std::unordered_map<Hash128, std::unique_ptr<const NameTable>, Hash128Hasher> name_tables_;
  size_t name_table_bytes_ = 0;
  std::unordered_map<ConfigId, TokenSet> memo_;
  size_t memo_bytes_ = 0;
  size_t memo_limit_ = size_t{64} << 20;
  // By configuration: tokens that may hold two equal items, to be tried with the true text.
  std::unordered_map<ConfigId, std::vector<TokenId>> doubtful_;
  std::vector<Place> stack_;
  std::vector<uint32_t> scratch_;  // one mask, for threads whose tokens are not simply added
};

}  // namespace gd
