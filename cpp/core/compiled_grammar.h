// A grammar and the engines made for it, one a vocabulary. What Python's Grammar holds. Thread-safe.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "engine.h"
#include "fork_safe_mutex.h"

namespace gd {

class CompiledGrammar {
 public:
  // Throws SerializationError.
  CompiledGrammar(std::string_view data, const Limits& limits);

  // Whether no document at all is in the language. `seconds`: what is left of the time to compile. Throws LimitError.
  bool is_empty(double seconds);
  // Of the engines and automata that were made; the grammar itself is not counted.
  size_t memory_bytes();
  // The engine for this vocabulary: made on first use, and again once it has grown too large. Throws UnsatisfiableError, LimitError.
  std::shared_ptr<Engine> engine(const std::shared_ptr<const Vocabulary>& vocabulary);
  // One that is given to nobody else.
  std::shared_ptr<Engine> engine_of_its_own(const std::shared_ptr<const Vocabulary>& vocabulary) const;

 private:
  static constexpr size_t kMaxEngines = 8;  // vocabularies of one process; the oldest engine is dropped

  std::shared_ptr<const Grammar> grammar_;
  Limits limits_;
  ForkSafeMutex mutex_;
  // Built by is_empty over all bytes; the first vocabulary with all bytes takes it over.
  std::unique_ptr<Automaton> spare_;
  std::vector<std::shared_ptr<Engine>> engines_;
};

}  // namespace gd
