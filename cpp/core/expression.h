// Regular expressions as hash-consed terms, and the lazily built DFA of their derivatives.
//
// A state of a terminal *is* an expression: what may still follow (Brzozowski 1964; Owens, Reppy, Turon 2009). Intersection
// and complement need no construction of their own, and a counted repetition costs the counts that are visited.
// Transitions that can't reach a match over the live alphabet lead to kEmpty, so a state that is not kEmpty is live.
//
// Not thread-safe: the owner (Automaton) holds a lock.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "byte_groups.h"
#include "byte_set.h"
#include "grammar.h"
#include "hashing.h"
#include "limits.h"
#include "slab.h"

namespace gd {

using ExprId = uint32_t;

class ExpressionPool {
 public:
  static constexpr ExprId kEmpty = 0;    // no string
  static constexpr ExprId kEpsilon = 1;  // the empty string
  static constexpr ExprId kAny = 2;      // every byte string

  // `alphabet`: the bytes that completions may use (those that are tokens by themselves). Emptiness is relative to
  // it; steps may consume any byte. `max_states` bounds the expressions; passing it throws LimitError. `work` is told of every step.
  ExpressionPool(const ByteSet& alphabet, uint32_t max_states, Work& work);

  // Translates the grammar's regexes; result[i] is the expression of regexes[i], if any node uses it. The grammar must outlive the pool
  // (literal sets are referred to, not copied).
  std::vector<ExprId> load(const Grammar& grammar);

  ExprId concat(ExprId first, ExprId second);
  ExprId literal_byte(uint8_t byte);
  ExprId make_class(const ByteSet& set);
  ExprId repeat(ExprId part, uint32_t minimum, uint32_t maximum);
  ExprId either(std::vector<ExprId> parts) { return alternate(std::move(parts)); }
  ExprId both(ExprId one, ExprId other) { return intersect({one, other}); }

  bool nullable(ExprId e) const { return exprs_[e].nullable; }
  bool is_nonempty(ExprId e);
  const Hash128& content_hash(ExprId e);

  // The successors of e, one for each byte; kEmpty is dead. The pointer stays valid.
  const ExprId* transitions(ExprId e) {
    const Row* row = rows_[e];
    return row != nullptr ? row->next.data() : build_row(e);
  }
  ExprId step(ExprId e, uint8_t byte) { return transitions(e)[byte]; }
  // The bytes that do not lead to kEmpty.
  const ByteSet& live_bytes(ExprId e) {
    if (rows_[e] == nullptr) build_row(e);
    return rows_[e]->live;
  }

  // Some string of e, which has one, over the alphabet: the one by which that was found out.
  std::string some_text(ExprId e);
  // step(e, byte) for a byte of such a string, without looking at the others.
  ExprId step_towards(ExprId e, uint8_t byte) { return part_derivative(e, byte); }

  // The number of strings over the alphabet, or kManyStrings if there are at least that many.
  static constexpr uint64_t kManyStrings = uint64_t{1} << 31;
  uint64_t num_strings(ExprId e);

  // Whether the form of e shows that every state that can be reached from it, and is live, has endlessly many strings.
  bool never_runs_out(ExprId e) const;

  // ---- lengths (expression_length.cpp) ----

  static constexpr uint32_t kEndless = uint32_t{1} << 30;  // also what sums stop at
  // A lower bound of the bytes of e's shortest string over the alphabet. Exact without intersection, complement, automaton.
  uint32_t least_length(ExprId e);
  // Whether it is exact for e and all that can be reached from it.
  bool has_exact_length(ExprId e);
  // No state that can be reached from e (e itself included) is farther than this from a match, in bytes; kEndless where that is not found
  // within some hundred states.
  uint32_t farthest(ExprId e);

  // The parts of a state that sits in a counted run of units C, followed by R; `state` is the same without the bounds.
  //   C{lo,hi} R             -> C{0,} R              P C{lo,hi} R       -> P C{0,} R          (P is a part of one C)
  //   (L & C{0,hi}) R        -> (L & C{0,}) R        (L & P C{0,hi}) R  -> (L & P C{0,}) R
  // In the second row (`bounded`) a text must also match L, so it may need more units than it has begun: see missing_units.
  struct CountedRun {
    bool found = false;
    bool in_run = false;      // between two units: there is no P
    ExprId unit = kEmpty;     // C
    ExprId rest = kEmpty;     // R
    ExprId loop = kEmpty;     // C{0,}
    ExprId counter = kEmpty;  // C{0,} or P C{0,}: what counts the units while `state` decides
    ExprId state = kEmpty;
    uint32_t minimum = 0;
    uint32_t maximum = kNone;
    bool bounded = false;
  };
  CountedRun counted_run(ExprId e);
  // The least number of units that have to be begun between (state, counter), reached from those of `run`, and the end of the run;
  // kNone if it is not found within some hundred states.
  uint32_t missing_units(const CountedRun& run, ExprId state, ExprId counter);
  // Characters (as groups) that may come in any number and order without leaving the language's prefixes; a text begins at a
  // character. Lower bounds: `cover` and `steady_cover` look at e only, `explored_cover` follows transitions from it.
  // Behind characters of `steady_cover`, all that may come at e may come, or more.
  GroupSet steady_cover(ExprId e);
  GroupSet cover(ExprId e) {
    const bool known = e < covers_.size() && (covers_[e] & kKnownCover) != 0;
    return (known ? covers_[e] : find_cover(e)) & kAllGroups;
  }
  GroupSet explored_cover(ExprId e);
  // The characters that are one unit each of `loop` = C{0,}, and have no other reading as units.
  GroupSet unit_characters(ExprId loop);

  // Whether `e` is P `tail` for some P (or `tail` itself).
  bool ends_with(ExprId e, ExprId tail) const;

  size_t memory_bytes() const { return memory_bytes_ + index_.memory_bytes(); }
  bool is_nearly_full() const { return exprs_.size() > max_states_ / 4 * 3; }
  Work& work() { return work_; }
  uint32_t num_states() const { return static_cast<uint32_t>(exprs_.size()); }

 private:
  enum class Kind : uint8_t { kClass, kConcat, kAlternate, kRepeat, kIntersect, kComplement, kLiterals, kAutomaton, kConstant };
  enum class Tri : uint8_t { kUnknown, kNo, kYes };
  struct Row {
    std::array<ExprId, 256> next;
    ByteSet live;
  };

  struct Expr {
    Kind kind{};
    bool nullable = false;
    bool positive = true;  // no intersection or complement below: emptiness is structural
    Tri nonempty = Tri::kUnknown;
    bool has_hash = false;
    uint32_t a = 0, b = 0, c = 0, d = 0;
    // kClass: a = index into sets_.  kConcat: a, b = parts.  kRepeat: a = part, b..c = bounds.  kComplement: a.
    // kAlternate, kIntersect: a = offset into parts_, b = how many.
    // kLiterals: a = set, b..c = range of its sorted literals, d = bytes consumed of each.
    // kAutomaton: a = automaton, b = state.
  };

  ExprId intern(const Expr& e, uint64_t hash);
  ExprId alternate(std::vector<ExprId> parts);
  ExprId intersect(std::vector<ExprId> parts);
  ExprId complement(ExprId part);
  bool is_loop(ExprId e) const { return exprs_[e].kind == Kind::kRepeat && exprs_[e].b == 0 && exprs_[e].c == kNone; }
  bool is_part_of(ExprId e, ExprId unit) const;
  bool is_unit(ExprId e, ExprId loop) const;
  bool are_units(std::string_view text, ExprId loop) const;
  bool is_within(ExprId e, ExprId loop);
  ExprId literals(uint32_t set, uint32_t first, uint32_t last, uint32_t depth);
  ExprId automaton(uint32_t index, uint32_t state);
  ExprId n_ary(Kind kind, const std::vector<ExprId>& parts);
  std::span<const ExprId> parts(const Expr& e) const { return {parts_.data() + e.a, e.b}; }

  // ---- derivatives and the search for a match (expression_derivative.cpp) ----

  using PartitionId = uint32_t;
  struct Partition {  // of the bytes
    std::array<uint8_t, 256> classes{};
    uint32_t size = 0;
  };
  struct Derivatives {
    PartitionId partition = 0;    // bytes of one class have the same derivative
    std::vector<ExprId> targets;  // by class; kNone: not yet known
  };
  PartitionId intern_partition(const std::array<uint16_t, 256>& classes);
  PartitionId common_partition(PartitionId a, PartitionId b);
  Derivatives& kept(ExprId e);
  ExprId kept_derivative(ExprId e, uint8_t byte);
  // Of a part: kept where it has conjuncts in it.
  ExprId part_derivative(ExprId e, uint8_t byte) { return exprs_[e].positive ? derivative(e, byte) : kept_derivative(e, byte); }
  ExprId derivative(ExprId e, uint8_t byte);
  const ExprId* build_row(ExprId e);
  // Splits `classes` (class number of each byte) so that bytes of one class have the same derivative of e.
  void refine(ExprId e, std::array<uint16_t, 256>& classes, uint32_t& num_classes);
  static void split(const ByteSet& set, std::array<uint16_t, 256>& classes, uint32_t& num_classes);
  static void split(const Partition& by, std::array<uint16_t, 256>& classes, uint32_t& num_classes);
  struct Counter {  // P C{lo,hi} as a term: kEmpty units if it is none
    ExprId unit = kEmpty;
    bool in_run = false;  // there is no P
    uint32_t minimum = 0;
    uint32_t maximum = kNone;
  };
  Counter counter_of(ExprId e) const;
  CountedRun bounded_intersection(ExprId both, ExprId rest);
  static constexpr GroupSet kKnownCover = GroupSet{1} << 63;
  GroupSet find_cover(ExprId e);
  GroupSet form_cover(ExprId e);
  template <class Returns, class IsInside>
  GroupSet looping_characters(ExprId loop, Returns returns, IsInside is_inside);
  GroupSet repeatable_characters(ExprId loop);
  bool includes(ExprId e, ExprId part) const;
  GroupSet prependable(ExprId e);
  bool is_plainly_finite(ExprId e) const;
  std::optional<uint64_t> num_literals(ExprId e);
  bool search_nonempty(ExprId e);
  std::optional<std::string> guess(ExprId e);
  uint32_t need(ExprId e);
  uint32_t automaton_distance(uint32_t index, uint32_t state);
  void check_size() const;

  ByteSet alphabet_;
  bool full_alphabet_;
  uint32_t max_states_;
  Work& work_;
  std::vector<Expr> exprs_;
  std::vector<const Row*> rows_;  // parallel to exprs_; null: not built
  Slab<Row> row_slab_;
  std::vector<std::unique_ptr<Derivatives>> derivatives_;  // by expression, grown on demand
  struct Way {                                             // towards a string
    ExprId next = 0;
    uint8_t byte = 0;
  };
  std::unordered_map<ExprId, Way> ways_;                    // of what took a search to see that there is a string
  std::vector<uint32_t> needs_;                             // the same
  std::vector<std::vector<uint32_t>> automaton_distances_;  // by automaton, grown on demand
  std::vector<Partition> partitions_;
  HashIndex partition_index_;
  std::unordered_map<uint64_t, PartitionId> common_partitions_;  // by two partitions
  std::vector<Hash128> hashes_;                                  // parallel to exprs_, valid where has_hash
  std::vector<ExprId> parts_;
  std::vector<ByteSet> sets_;
  HashIndex set_index_;
  std::unordered_map<uint64_t, bool> within_;  // by (expression, loop)
  HashIndex index_;
  std::vector<const std::vector<std::string>*> literal_sets_;
  std::vector<const std::vector<Regex::State>*> automata_;
  std::vector<Hash128> automaton_hashes_;                 // parallel to automata_
  std::unordered_map<uint64_t, uint32_t> missing_units_;  // by (state, counter)
  std::vector<GroupSet> covers_;                          // by expression, grown on demand; with kKnownCover where found
  std::unordered_map<ExprId, GroupSet> explored_covers_, steady_covers_, unit_characters_, repeatable_characters_;
  std::vector<Tri> exact_lengths_;                  // parallel to exprs_, grown on demand
  std::vector<uint32_t> least_lengths_, farthest_;  // parallel to exprs_, grown on demand; kUnknownLength
  uint32_t explore_farthest(ExprId e);
  size_t farthest_credit_ = 20'000;  // states that may be explored in vain
  uint32_t greatest_length(ExprId e) const;
  uint32_t find_least_length(ExprId e);
  std::vector<uint64_t> string_counts_;  // parallel to exprs_, grown on demand; 0 = unknown
  size_t memory_bytes_ = 0;
  uint64_t num_derivatives_ = 0;  // terms that derivatives were taken of
};

}  // namespace gd
