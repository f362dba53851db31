#include "compiled_grammar.h"

#include <algorithm>

#include "errors.h"

namespace gd {

CompiledGrammar::CompiledGrammar(std::string_view data, const Limits& limits)
    : grammar_(std::make_shared<const Grammar>(read_grammar(data))), limits_(limits) {}

bool CompiledGrammar::is_empty(double seconds) {
  const std::lock_guard lock(mutex_);
  if (spare_ != nullptr || !engines_.empty()) return false;
  try {
    spare_ = std::make_unique<Automaton>(*grammar_, ByteSet::all(), limits_, seconds);
  } catch (const UnsatisfiableError&) {
    return true;
  }
  return false;
}

size_t CompiledGrammar::memory_bytes() {
  const std::lock_guard lock(mutex_);
  size_t bytes = spare_ == nullptr ? 0 : spare_->memory_bytes();
  for (const std::shared_ptr<Engine>& engine : engines_) bytes += engine->memory_bytes();
  return bytes;
}

std::shared_ptr<Engine> CompiledGrammar::engine(const std::shared_ptr<const Vocabulary>& vocabulary) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(engines_.begin(), engines_.end(),
                                  [&](const std::shared_ptr<Engine>& engine) { return &engine->vocabulary() == vocabulary.get(); });
  if (found != engines_.end()) {
    if (!(*found)->is_full()) return *found;
    engines_.erase(found);  // its matchers keep it; new sequences begin afresh
  }
  const bool has_spare = spare_ != nullptr && vocabulary->alphabet() == ByteSet::all();
  const auto made = has_spare ? std::make_shared<Engine>(grammar_, vocabulary, std::move(spare_)) : engine_of_its_own(vocabulary);
  if (engines_.size() == kMaxEngines) engines_.erase(engines_.begin());
  engines_.push_back(made);
  return made;
}

std::shared_ptr<Engine> CompiledGrammar::engine_of_its_own(const std::shared_ptr<const Vocabulary>& vocabulary) const {
  auto automaton = std::make_unique<Automaton>(*grammar_, vocabulary->alphabet(), limits_, limits_.max_compile_seconds);
  return std::make_shared<Engine>(grammar_, vocabulary, std::move(automaton));
}

}  // namespace gd
