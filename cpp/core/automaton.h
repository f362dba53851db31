// Threads and configurations: where in the grammar the text so far may stand, and what one more byte does.
//
// A *frame* is (kind, local state, parent); a thread is a frame whose chain of parents says what to resume when its value is
// complete. A *configuration* is a set of threads. All are hash-consed: equal states have equal ids, and
// `step(configuration, byte)` is remembered. Only live threads are kept (DESIGN 1): from every frame a document can still be
// finished with bytes that are tokens by themselves.
//
// Not thread-safe: the owner (Engine) holds a lock.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "chunked.h"
#include "container.h"
#include "expression.h"
#include "grammar.h"
#include "json_value.h"
#include "limits.h"
#include "slab.h"
#include "uniqueness.h"
#include "value_counter.h"

namespace gd {

using FrameId = uint32_t;
using ConfigId = uint32_t;
using KeyId = uint32_t;

enum class FrameKind : uint8_t {
  kTerminal,      // inside a scalar                          state = expression
  kRootBefore,    // before the root value                    sub = whitespace so far
  kRootValue,     // waits for the root value
  kRootAfter,     // behind the root value: accepting         sub = whitespace so far
  kObjectOpen,    // behind "{"                               state = register, sub
  kKey,           // inside a key                             state = register, extra = key position
  kColon,         // behind a key, before ":"                 state = register, extra = value node, sub
  kMemberBefore,  // behind ":"                               state = register, extra = value node, sub
  kMemberValue,   // waits for a member's value               state = register
  kMemberAfter,   // behind a member                          state = register, sub
  kMemberNext,    // behind "," in an object                  state = register, sub
  kArrayOpen,     // behind "["                               state = register, sub
  kItemValue,     // waits for an item                        state = register
  kItemAfter,     // behind an item                           state = register, sub
  kItemNext,      // behind "," in an array                   state = register, sub
  kPart,          // before a part of a chain                 state = node, extra = index of the part
  kWatched,       // inside an array of distinct items        state = level, sub = text, extra = the frame (uniqueness.h)
};

struct Frame {
  FrameKind kind{};
  uint32_t sub = 0;  // bytes of the present run: literal tail of a separator first, then whitespace
  uint32_t state = 0;
  uint32_t extra = 0;
  FrameId parent = 0;
  bool operator==(const Frame&) const = default;
};

// Where a key stands: which names it may still become, and the states of the patterns it may still match.
struct KeyPosition {
  uint32_t low = 0, high = 0;  // the sorted names that begin with the text so far; none: low == high
  uint32_t depth = 0;          // bytes so far; 0 for a fresh text
  uint32_t patterns = 0;       // id of a list of (pattern, state)
  TextId text = 0;             // kept only while a pattern is alive
  bool operator==(const KeyPosition&) const = default;
};

class Automaton {
 public:
  static constexpr ConfigId kDead = 0;

  // Throws UnsatisfiableError if no document can be finished over `alphabet`, LimitError.
  // `seconds` of `limits` or less are left for this.
  Automaton(const Grammar& grammar, const ByteSet& alphabet, const Limits& limits, double seconds);

  ConfigId start() const { return start_; }
  bool is_accepting(ConfigId c) const { return configs_[c].accepting; }
  std::span<const FrameId> threads(ConfigId c) const { return {threads_.data() + configs_[c].begin, configs_[c].count}; }
  const Frame& frame(FrameId f) const { return frames_[f]; }
  const KeyPosition& key(KeyId k) const { return keys_[k]; }
  std::span<const std::pair<uint32_t, ExprId>> key_patterns(const KeyPosition& k) const { return pattern_lists_[k.patterns]; }

  // The configuration behind one more byte; kDead if none.
  ConfigId step(ConfigId c, uint8_t byte) {
    const ConfigId known = known_step(configs_[c].steps, byte);
    return known != kUnknown ? known : compute_step(c, byte, false);
  }
  // The same for computing masks: a key that has left all names and all used keys loses its text (TextPool::kFresh), so that
  // the many texts behind one mask share their states. It differs from `step` only where one token closes two keys.
  ConfigId mask_step(ConfigId c, uint8_t byte) {
    const ConfigId known = known_step(configs_[c].mask_steps, byte);
    return known != kUnknown ? known : compute_step(c, byte, true);
  }
  // The bytes that may lead on from c: all others are dead.
  const ByteSet& first_bytes(ConfigId c) {
    if (!configs_[c].has_first_bytes) compute_first_bytes(c);
    return configs_[c].first_bytes;
  }

  ConfigId config_of(FrameId f);       // the configuration of one thread
  ConfigId opened_array(NodeId node);  // behind the bracket of an array that is the whole document
  ConfigId resume(FrameId waiting);    // what follows when the value that `waiting` waits for is complete
  ConfigId closed_name(RegisterId reg, uint32_t sorted_name, FrameId parent);  // behind a name and its quote
  ConfigId closed_key(RegisterId reg, uint32_t pattern, FrameId parent);       // behind a fresh key of that pattern
  // The configuration whose mask is the same as that of c but for tokens that repeat a key or an item: within a key that is on the way to
  // no name and no used key, and within an item that can equal no earlier one, the text is forgotten.
  ConfigId forget_texts(ConfigId c);
  FrameId forget_key(FrameId f);
  bool is_inside_scalars(ConfigId c) const;  // every thread
  Uniqueness& uniqueness() { return uniqueness_; }
  bool has_unique_arrays() const { return has_unique_arrays_; }
  ConfigId config_of(std::vector<FrameId> threads) { return threads.empty() ? kDead : intern_config(threads); }
  void resume_into(FrameId waiting, std::vector<FrameId>& out);
  // Whether a key position has to be followed letter by letter: its text may be a name, a used key, or of a finite pattern.
  bool is_exact_key(RegisterId reg, const KeyPosition& k);
  // Whether its text is kept, and is on the way to no name and no used key, all of which are known.
  bool is_new_key(RegisterId reg, const KeyPosition& k);
  // The bytes behind which an exact key position may lead to another one, or close a name or a used key.
  ByteSet exact_bytes(RegisterId reg, const KeyPosition& k);
  KeyId step_key(RegisterId reg, KeyId key, uint8_t byte, bool for_mask);  // within the key; kNone if dead
  KeyId first_key(RegisterId reg);

  // What may begin at a place that waits for a value.
  struct Starts {
    std::vector<ExprId> terminals;
    std::vector<NodeId> objects, arrays, chains;
  };
  const Starts& starts(NodeId node);
  // The part of a chain before which `f` (kPart) stands, and the frame that waits while it is read. The last part waits where the chain
  // itself does, so that chains that go on with chains do not pile up.
  NodeId part_of(const Frame& f) const { return grammar_.nodes[f.state].choices[f.extra]; }
  Frame behind_part(const Frame& f) const;
  bool may_skip_part(const Frame& f) const;  // to the next part: there is one, and this one may be empty
  FrameId intern(const Frame& f);

  Work& work() { return work_; }
  const Limits& limits() const { return limits_; }
  const ByteSet& alphabet() const { return alphabet_; }
  ExprId expression(RegexId regex) const { return regexes_[regex]; }
  ExpressionPool& expressions() { return expressions_; }
  Containers& containers() { return containers_; }
  const Grammar& grammar() const { return grammar_; }
  size_t memory_bytes() const;  // O(1)
  bool is_nearly_full() const { return expressions_.is_nearly_full(); }

 private:
  static constexpr ConfigId kUnknown = 0xFFFFFFFF;
  // The known steps of a configuration. Most are passed once on the way through a trie and have few, so the full row comes late.
  struct Steps {
    static constexpr uint32_t kFew = 6;
    std::array<uint8_t, kFew> bytes{};
    uint8_t count = 0;
    std::array<ConfigId, kFew> next{};
    std::array<ConfigId, 256>* row = nullptr;
  };
  static ConfigId known_step(const Steps& steps, uint8_t byte) {
    if (steps.row != nullptr) return (*steps.row)[byte];
    for (uint32_t i = 0; i < steps.count; ++i) {
      if (steps.bytes[i] == byte) return steps.next[i];
    }
    return kUnknown;
  }
  void remember(Steps& steps, uint8_t byte, ConfigId next);
  struct Config {
    uint32_t begin = 0;  // of its threads
    uint32_t count = 0;
    bool accepting = false;
    bool has_first_bytes = false;
    Steps mask_steps;
    ByteSet first_bytes;  // valid where has_first_bytes
    Steps steps;
  };

  void find_live_nodes();
  void settle_live_nodes(const std::vector<bool>& barred);
  bool compute_live(NodeId node);
  void check_size(size_t num_threads) const;
  uint32_t depth_of(const Frame& f) const;
  ConfigId intern_config(std::vector<FrameId>& threads);  // sorts them
  KeyId intern_key(const KeyPosition& k);
  uint32_t intern_patterns(std::vector<std::pair<uint32_t, ExprId>> list);
  ConfigId compute_step(ConfigId c, uint8_t byte, bool for_mask);
  void compute_first_bytes(ConfigId c);
  void add_first_bytes(const Frame& f, ByteSet& bytes);
  void add_value_bytes(NodeId node, ByteSet& bytes);
  void add_item_bytes(const Frame& f, ByteSet& bytes);
  void step_frame(const Frame& f, uint8_t byte, bool for_mask, std::vector<FrameId>& out);
  void step_in_key(const Frame& f, uint8_t byte, bool for_mask, std::vector<FrameId>& out);
  void start_value(NodeId node, Frame waiting, uint8_t byte, std::vector<FrameId>& out);
  void push_part(const Frame& f, std::vector<FrameId>& out);
  void start_items(const Frame& f, uint8_t byte, std::vector<FrameId>& out);
  void push(std::vector<FrameId>& out, FrameKind kind, uint32_t sub, uint32_t state, uint32_t extra, FrameId parent);
  bool key_is_live(RegisterId reg, const KeyPosition& k);
  // Continues the run of literal tail and whitespace in `f`; true if the byte was part of it.
  bool continue_run(const Frame& f, std::string_view tail, uint8_t byte, std::vector<FrameId>& out, bool& tail_complete);

  const Grammar& grammar_;
  ByteSet alphabet_;
  Limits limits_;
  Work work_;
  ExpressionPool expressions_;
  std::vector<ExprId> regexes_;
  Containers containers_;
  bool has_unique_arrays_ = false;
  ValuePool values_;
  ValueCounter counter_;
  Uniqueness uniqueness_;
  std::vector<std::unique_ptr<Starts>> starts_;
  std::vector<Frame> frames_;
  std::vector<uint32_t> depths_;  // parallel to frames_: containers that are open there
  HashIndex frame_index_;
  std::vector<KeyPosition> keys_;
  HashIndex key_index_;
  std::vector<std::vector<std::pair<uint32_t, ExprId>>> pattern_lists_;
  size_t pattern_list_bytes_ = 0;
  HashIndex pattern_list_index_;
  std::vector<FrameId> threads_;
  Chunked<Config> configs_;
  HashIndex config_index_;
  std::vector<FrameId> stepped_;  // scratch
  Slab<std::array<ConfigId, 256>> step_rows_;
  size_t row_bytes_ = 0;
  ConfigId start_ = kDead;
};

}  // namespace gd
