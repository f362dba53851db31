// One grammar with one vocabulary: the automaton, and the masks of its configurations. Shared by all matchers of the pair.
//
// Thread-safe: every public member takes the engine's lock. A configuration id stays valid as long as the engine.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "automaton.h"
#include "completion.h"
#include "fork_safe_mutex.h"
#include "mask_memo.h"
#include "mask_plan.h"
#include "name_table.h"
#include "recent_cache.h"
#include "terminal_table.h"
#include "vocabulary.h"

namespace gd {

class Engine {
 public:
  // The automaton is one of `grammar`, over the alphabet of `vocabulary`.
  Engine(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const Vocabulary> vocabulary,
         std::unique_ptr<Automaton> automaton);
  ~Engine();

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

  // ---- the way to the end (engine_finish.cpp) ----

  // An upper bound of the tokens that finish the document from c (completion.h); kFar if none is known. Throws LimitError.
  Cost distance(ConfigId c);
  // The fewest bytes that finish it.
  Cost byte_distance(ConfigId c);
  // A text that finishes the document from c in about as many bytes. Throws LimitError if it has more than `max_bytes`.
  std::string shortest_completion(ConfigId c, size_t max_bytes);
  // The longest text, of at most `max_bytes`, that every way from c to the end begins with.
  std::string forced_bytes(ConfigId c, size_t max_bytes);
  // Whether no token of c can lead farther than that from the end; may say no where none can.
  bool has_room(ConfigId c, Cost limit);
  // Whether the distance of `next`, one token behind c, is at most `limit`.
  bool leads_within(ConfigId c, ConfigId next, Cost limit);
  // The mask of c, less the tokens behind which the distance is more than `limit`.
  void fill_within(ConfigId c, Cost limit, uint32_t* mask);
  // Takes out of `mask` the tokens behind which more bytes are left than now, unless that is all of them.
  void keep_closing(ConfigId c, uint32_t* mask);
  // Whether no more bytes are left at `next` than at c.
  bool is_closing(ConfigId c, ConfigId next);

  // One line for each thread, for messages: what stands there, in words.
  struct Expectation {
    FrameKind kind{};
    NodeId node = 0;                 // the container that the thread is in or the value that comes next, kNone at the root
    std::vector<std::string> names;  // names that may come or be completed
    bool other_names = false;        // and others
    bool can_close = false;
  };
  std::vector<Expectation> expectations(ConfigId c);

  // Bytes of finished masks and of the tables that they and their making need; 0: nothing is remembered. Answers do not depend on it.
  // Forgets what is remembered.
  void set_memo_limit(size_t bytes);
  size_t memory_bytes();
  // Whether the automaton has grown so much that new sequences should begin with a fresh engine.
  bool is_full();

 private:
  static constexpr Cost kNoLimit = 0xFFFFFFFF;
  struct Place {  // of a walk: the configuration at one depth, and the bytes that may lead on from it
    ConfigId config = 0;
    ByteSet bytes;
  };

  void fill_plain(ConfigId c, ConfigId alike, uint32_t* mask);
  void fill_remembered(ConfigId c, uint32_t* mask);
  // Each adds the tokens of one thread, or a part of them, to `plan`.
  void add_thread(FrameId f, MaskPlan& plan);
  void add_counted(const std::shared_ptr<const TerminalTable>& table, const ExpressionPool::CountedRun& run, ConfigId rest,
                   MaskPlan& plan);
  // The tokens allowed in terminal state `e` behind at most `run` bytes of whitespace, when `rest` is what follows the terminal.
  void add_table(ExprId e, uint32_t run, ConfigId rest, MaskPlan& plan);
  void add_place(const Frame& f, size_t tail_size, MaskPlan& plan);
  void add_whitespace(const Frame& f, uint32_t run, MaskPlan& plan);
  void add_part(const Frame& f, MaskPlan& plan);
  bool add_part_scalars(NodeId node, const Frame& waiting, MaskPlan& plan);
  void add_value(NodeId node, const Frame& waiting, uint32_t run, MaskPlan& plan);
  // The tries of what may follow at a place: all tokens, and what is behind a run of at most `run` bytes of whitespace.
  std::vector<const Trie*> tries(uint32_t run) const;
  uint32_t longest_run(uint32_t run) const;  // the same runs of whitespace, by a smaller number
  // engine_finish.cpp: what `limit_` leaves of the tokens.
  struct Measure {  // what is remembered for one measure of distances
    explicit Measure(CacheBudget& budget) : scalars(budget), narrowed(budget) {}
    RecentCache<uint64_t, std::shared_ptr<const ScalarDistances>> scalars;  // by expression and run of whitespace
    MaskMemo narrowed;                                                      // by configuration and limit
    std::unordered_map<ConfigId, Cost> harmless;                            // by configuration: a limit that leaves out nothing
  };
  Completion& completion();
  Completion& byte_completion();
  void fill_measured(Completion& completion, Measure& measure, ConfigId c, Cost limit, uint32_t* mask);
  void sharpen();
  bool is_far(ConfigId c, Cost limit);  // has_room, under the lock
  bool is_within(ConfigId c);
  void add_witness(ConfigId c, uint32_t* mask);
  void note_unknown(ConfigId c, const Trie& trie, uint32_t node);
  void add_scalar_within(ExprId e, uint32_t run, Cost limit, MaskPlan& plan);
  bool is_name_within(RegisterId reg, FrameId parent, const NameTable::Inside& in);
  std::shared_ptr<const ScalarDistances> scalar_distances(ExprId e, uint32_t run);
  // engine_keys.cpp
  void add_key(FrameId f, MaskPlan& plan);
  bool add_first_keys(const Frame& place, uint32_t run, MaskPlan& plan);
  void add_names(const Trie& trie, RegisterId reg, const NameRange& range, bool before_quote, FrameId parent, bool over_patterns,
                 MaskPlan& plan);
  std::shared_ptr<const NameTable> name_table(const Trie& trie, NodeId node, const NameRange& range, bool before_quote);
  bool has_finite_pattern(const KeyPosition& k);
  bool follows_keys(const KeyPosition& k);
  void take_out_used(const Trie& trie, RegisterId reg, const KeyPosition& k, bool before_quote, MaskPlan& plan);
  // Adds what `make` adds, whose taking out concerns nothing else.
  template <class Make>
  void add_apart(MaskPlan& plan, Make make) {
    if (plan.empty()) {
      make(plan);
      return;
    }
    MaskPlan apart;
    make(apart);
    scratch_.resize(vocabulary_->num_words());
    apart.write(scratch_.data(), scratch_.size());
    auto tokens = std::make_shared<const TokenSet>(TokenSet::from_mask(scratch_.data(), scratch_.size()));
    plan.add(tokens, *tokens);
  }
  // Joint descent of trie and automaton: adds the tokens that `from` accepts, of the whole trie or of what is below one node.
  void walk(const Trie& trie, ConfigId from, MaskPlan& plan, const ByteSet* first_bytes);
  void walk_below(const Trie& trie, uint32_t node, ConfigId from, MaskPlan& plan);
  void walk_range(const Trie& trie, uint32_t begin, uint32_t end, uint32_t top, MaskPlan& plan);
  void walk_exact_keys(FrameId f, const Trie& trie, uint32_t begin, uint32_t end, MaskPlan& plan);
  void set_or_take_out(const Trie& trie, uint32_t node, bool is_kept, MaskPlan& plan);
  // Take out of the mask, and of its plan, tokens that `c` does not accept letter by letter.
  void check_repeats(ConfigId c, uint32_t* mask, MaskPlan& plan);
  void check_doubtful(ConfigId c, ConfigId alike, uint32_t* mask, MaskPlan& plan);
  void check_tokens(const std::vector<TokenId>& tokens, ConfigId c, uint32_t* mask, MaskPlan& plan);
  // engine_unique.cpp
  void add_watched(const Frame& watch, FrameId id, MaskPlan& plan);
  void add_inner(FrameId watched, FrameId inner, MaskPlan& plan);
  void take_out_barred(const Trie& trie, ConfigId from, ConfigId plain, MaskPlan& plan);
  ByteSet doubtful_bytes(ConfigId c, ConfigId plain);
  bool is_settled(ConfigId c, ConfigId plain);
  bool is_doubtful(ConfigId c);
  std::shared_ptr<const TerminalTable> table(ExprId e, uint32_t run);
  // A counted run with its table; null if `e` is in none that can be counted.
  struct Counted {
    ExpressionPool::CountedRun run;
    std::shared_ptr<const TerminalTable> table;
  };
  std::shared_ptr<const Counted> counted(ExprId e, uint32_t run);
  // The caches below.
  template <class Cache, class Key, class Value>
  void remember(Cache& cache, const Key& key, const Value& value, size_t bytes) {
    const size_t cost = Cache::cost(bytes);
    if (budget_.make_room(cost, [&] { age(); })) cache.add(key, value, cost);
  }
  void remember(MaskMemo& memo, MaskMemo::Key key, const uint32_t* mask);
  void age();
  void begin_work();  // of one call: its time runs from here

  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<const Vocabulary> vocabulary_;
  ForkSafeMutex mutex_;
  std::unique_ptr<Automaton> automaton_;
  // What is remembered, within one limit. The first two by expression and run of whitespace.
  CacheBudget budget_{size_t{64} << 20};
  RecentCache<uint64_t, std::shared_ptr<const TerminalTable>> tables_{budget_};
  RecentCache<uint64_t, std::shared_ptr<const Counted>> counted_{budget_};
  RecentCache<Hash128, std::shared_ptr<const NameTable>, Hash128Hasher> name_tables_{budget_};
  MaskMemo memo_{budget_};
  Measure tokens_measure_{budget_}, bytes_measure_{budget_};
  std::unique_ptr<Completion> completion_, byte_completion_;  // made at the first question
  Cost limit_ = kNoLimit;     // of the mask that is being computed: tokens that lead farther from the end are left out
  bool is_narrowed_ = false;  // and one was
  std::unordered_map<ConfigId, TokenId> witnesses_;  // by configuration: what `sharpen` has found
  Completion* distances_ = nullptr;                  // of the mask that is being computed, if it has a limit
  Measure* measure_ = nullptr;
  // By configuration: tokens that may hold two equal items, to be tried with the true text.
  std::unordered_map<ConfigId, std::vector<TokenId>> doubtful_;
  std::vector<TokenId> new_doubtful_;  // of the mask that is being computed
  std::vector<Place> stack_;
  MaskPlan plan_;                  // of the mask that is being computed
  std::vector<uint32_t> scratch_;  // one mask
};

}  // namespace gd
