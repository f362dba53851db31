// Arrays whose items must be distinct (uniqueItems): a layer over the threads of the automaton.
//
// The automaton beneath knows nothing of it. A thread that is inside such an array is *watched*: beside its frame it carries a
// *level* for every container from the outermost such array inwards, with the values that have been read of it. A watched thread
// steps as its frame does, and is dropped when an item closes equal to an earlier one, or when no completion is left in which the
// items are distinct. Which values could still be met (the candidates) is narrowed while an item is read, so that an item that has
// left them all costs nothing; and nothing at all is asked where more values are possible than could be used up.
//
// While masks are computed an item that can't be equal to an earlier one any more loses its text (`without_texts`), so that the many
// texts behind one mask share their states. What follows such an item in the same token may turn out to equal it: where that can't be
// excluded the thread is *doubtful*, and the token is tried with the true text.
//
// Not thread-safe: the owner (Automaton) holds a lock.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "hashing.h"
#include "json_value.h"
#include "value_counter.h"

namespace gd {

class Automaton;
struct Frame;
using FrameId = uint32_t;
using LevelId = uint32_t;

struct Level {
  enum class Kind : uint8_t { kObject, kArray, kUnique };
  enum class Phase : uint8_t { kBetween, kInItem, kForgotten };  // kUnique: kForgotten is in an item whose text is forgotten
  Kind kind = Kind::kUnique;
  Phase phase = Phase::kBetween;
  LevelId below = 0;      // the container around it; 0 for the outermost
  FrameId parent = 0;     // kUnique: the frame that waits for the array, which tells its frames from those of inner ones
  ListId values = 0;      // what has been read: members, or items in order (kUnique: only where a level below asks for the value)
  ListId used = 0;        // kUnique: the values of the items, sorted
  ListId candidates = 0;  // kUnique, in an item: those of `used` that the item may still equal
  ValueId key = ValuePool::kAbsent;  // kObject: the key whose value comes next
  bool unknown = false;              // kUnique: an item was read whose value is forgotten (while a mask is computed)
  bool operator==(const Level&) const = default;
};

class Uniqueness {
 public:
  static constexpr LevelId kNoLevel = 0;

  Uniqueness(Automaton& automaton, ValueCounter& counter, ValuePool& values);

  // What the frame `to`, which `from` has become by `byte`, is with its watch: a frame id, or kNone if it is to be dropped.
  // `watch` is the kWatched frame of `from`, or null.
  FrameId watched(const Frame* watch, const Frame& from, uint8_t byte, FrameId to, bool for_mask);
  // The same thread without the texts that make no difference to its mask.
  FrameId forgotten(const Frame& watch);
  // The frames that follow when the scalar that `watch` is in has ended with a value that equals no earlier one.
  void close_fresh(const Frame& watch, std::vector<FrameId>& out);

  bool is_doubtful(const Frame& watch) const;
  // Whether a text that leaves the earlier items can be forgotten; otherwise values may run out, and every text counts.
  bool is_plenty(const Frame& watch);
  // Inside a scalar or key of an item that equals no earlier one, whatever follows: what the item becomes makes no difference.
  bool is_free(const Frame& watch);
  // Whether a way to the end that does not know of distinctness keeps it: no earlier item can be met, and no further item has to come.
  bool ends_plainly(const Frame& watch);
  // Whether items have to come behind the present one.
  bool is_pending(const Frame& watch);
  // Whether an item was read whose value is forgotten.
  bool has_unknown(const Frame& watch) const;
  // Inside a scalar: the bytes that may lead to the text of an earlier item.
  ByteSet doubtful_bytes(const Frame& watch);

  const Level& level(LevelId id) const { return levels_[id]; }
  size_t memory_bytes() const {
    return levels_.capacity() * sizeof(Level) + index_.memory_bytes() + (plenty_.size() + live_.size()) * 48;
  }

 private:
  struct Watch {  // a watched thread, taken apart
    FrameId inner = 0;
    LevelId level = kNoLevel;
    TextId text = TextPool::kEmptyText;  // of the scalar or key that is being read
    bool doubtful = false;
  };
  // The levels of a thread whose texts are kept, innermost first, each with the register of its container.
  struct Place {
    LevelId level = kNoLevel;
    RegisterId reg = 0;
  };
  using Chain = std::vector<Place>;

  bool ends_plainly(const Watch& watch, bool with_candidates);
  LevelId intern(const Level& level);
  FrameId interned(const Watch& watch);
  FrameId checked(Watch watch, bool for_mask);
  Watch read(const Frame& watch) const;
  FrameId in_forgotten_item(Watch watch, uint8_t byte, bool for_mask);
  void begin_item(Watch& watch);
  bool close_value(Watch& watch, ValueId value);
  Chain chain(const Watch& watch) const;
  std::string text_of(const Watch& watch) const;
  void narrow(Watch& watch);
  void rebuild(Watch& watch, const Chain& chain, std::vector<Level> levels);
  bool is_consistent(ValueId value, size_t index, const Chain& chain, const Watch& watch, const ScalarPrefix& text) const;
  ValueId scalar_at(ValueId value, size_t index, const Chain& chain) const;
  bool is_sure(const Watch& watch);
  bool is_plenty(const Chain& chain);
  bool is_plenty(LevelId level, RegisterId reg);
  bool is_live(Watch& watch);
  bool is_surely_live(const Watch& watch, const Chain& chain);
  bool search_completion(const Watch& watch, const Chain& chain);
  uint64_t bound_from_key(const Watch& watch, const Place& place);
  void list_from_key(const Watch& watch, const Place& place, ValueCounter::Values& out);
  Watch without_texts(Watch watch);

  Automaton& automaton_;
  ValueCounter& counter_;
  ValuePool& values_;
  std::vector<Level> levels_;
  HashIndex index_;
  std::unordered_map<uint64_t, bool> plenty_;              // by level and register
  std::unordered_map<Hash128, bool, Hash128Hasher> live_;  // of the threads that took a search
};

}  // namespace gd
