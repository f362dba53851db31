// What the tokens of a vocabulary do to one state of a terminal, computed once and shared by every grammar (DESIGN 5).
//
// For state q and token t: t is *inside* if q survives all of t (it may end exactly at the terminal's end). If a proper prefix u
// completes the terminal, the rest v of t = u v is a *residual*: t is allowed if what follows the terminal accepts v. The
// residuals of all tokens form one trie, so a context never seen before costs one copy and one small walk.
//
// A counted run C{lo,hi} R (a string with length bounds) has one table for all counts: tokens are filed by how many C they need,
// exits by how many C they complete. Immutable, shared between threads.
#pragma once

#include <memory>
#include <vector>

#include "expression.h"
#include "token_set.h"
#include "vocabulary.h"

namespace gd {

struct TerminalTable {
  TokenSet inside;
  Trie residual;

  // Counted runs only.
  static constexpr uint32_t kNumBounds = 17;
  struct Exit {
    uint32_t units = 0;           // how many C were completed before R
    std::vector<TokenId> tokens;  // tokens that end within R
    Trie residual;
  };
  bool countable = true;  // false: the run has overlaps and needs plain tables (nothing else is set)
  uint32_t max_need = 0;
  std::vector<TokenSet> at_most;              // [n] = tokens inside the run that need at most n units, n < kNumBounds
  std::vector<std::vector<TokenId>> by_need;  // [n] = tokens that need exactly n units
  std::vector<Exit> exits;                    // increasing units
  // For a run: `inside` = stays in the run, any number of units; `residual`, `exit_tokens` = all exits together.
  std::vector<TokenId> exit_tokens;

  size_t memory_bytes() const;
};

// The table of state `e`, as it is.
std::shared_ptr<const TerminalTable> build_table(ExpressionPool& pool, ExprId e, const Vocabulary& vocabulary);
// The table of a counted run (run.found), for all bounds.
std::shared_ptr<const TerminalTable> build_counted_table(ExpressionPool& pool, const ExpressionPool::CountedRun& run,
                                                         const Vocabulary& vocabulary);

}  // namespace gd
