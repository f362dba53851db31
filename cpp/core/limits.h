// The caps on the kernel's work, and the watch over the work that no count bounds well: its time.
// src/grammar_decode/limits.py says why each is what it is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gd {

struct Limits {
  uint32_t max_states = 500'000;         // expressions of one automaton
  size_t max_picks = 512;                // ways to read one key or item
  size_t max_search = 200'000;           // steps of one search for a way to finish an object or array
  size_t max_threads = 10'000;           // of one configuration
  uint32_t max_document_depth = 10'000;  // containers inside each other
  size_t max_memory_bytes = size_t{256} << 20;
  double max_compile_seconds = 1.5;  // processor time of the thread
  double max_mask_seconds = 1.0;     // the same, of one call on a matcher
};

// Counts steps of one piece of work, and every few thousand steps looks at the thread's processor time. A step is about a microsecond
// or less; what takes longer counts as several.
//
// Not thread-safe: the owner (Automaton) is worked on under a lock.
class Work {
 public:
  // The next piece of work: at most so many seconds, a limit that has this name. The time begins with the first look.
  void begin(const char* limit, double seconds) {
    left_ = kStepsBetweenLooks;
    begun_ = kNotYet;
    limit_ = limit;
    seconds_ = seconds;
  }
  // Throws LimitError. Called where what is interned is whole.
  void tick(size_t steps = 1) {
    left_ -= static_cast<int64_t>(steps);
    if (left_ < 0) look();
  }

 private:
  static constexpr int64_t kStepsBetweenLooks = 2'000;
  static constexpr double kNotYet = -1;
  void look();

  int64_t left_ = kStepsBetweenLooks;
  double begun_ = kNotYet;
  const char* limit_ = "";
  double seconds_ = 1e300;
};

}  // namespace gd
