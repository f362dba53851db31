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
#include "mask_plan.h"
#include "token_set.h"
#include "vocabulary.h"

namespace gd {

struct TerminalTable {
  // The tokens inside are those of the cover (if there is one) and these.
  std::shared_ptr<const Cover> cover;
  TokenSet inside;
  std::shared_ptr<const Trie> residual;  // never null

  // Counted runs only. A token needs the units that it completes or begins, and those that have to follow it.
  struct Exit {
    uint32_t units = 0;           // how many C were completed before R
    std::vector<TokenId> tokens;  // tokens that end within R
    Trie residual;
  };
  bool countable = true;                      // false: the run has overlaps and needs plain tables (nothing else is set)
  uint32_t missing = 0;                       // a token of the cover with n characters needs n to n + missing units
  TokenSet by_length;                         // beside the cover: tokens of plain characters that need as many units as they have
  std::vector<std::vector<TokenId>> by_need;  // [n] = the others, if they need exactly n units
  std::vector<Exit> exits;                    // increasing units
  // For a run: `inside` = the tokens of `by_need` together; `residual`, `exit_tokens` = all exits together.
  std::vector<TokenId> exit_tokens;

  size_t memory_bytes() const;
};

// The table of state `e`, as it is, for the tokens of `tries`: all tokens, and the rests of those that begin with whitespace.
std::shared_ptr<const TerminalTable> build_table(ExpressionPool& pool, ExprId e, const Vocabulary& vocabulary,
                                                 const std::vector<const Trie*>& tries);
// The same of a counted run (run.found), for all bounds.
std::shared_ptr<const TerminalTable> build_counted_table(ExpressionPool& pool, const ExpressionPool::CountedRun& run,
                                                         const Vocabulary& vocabulary, const std::vector<const Trie*>& tries);
// The units that `text` needs within the run, in any context; kNone if it leads out.
uint32_t units_needed(ExpressionPool& pool, const ExpressionPool::CountedRun& run, std::string_view text);

}  // namespace gd
