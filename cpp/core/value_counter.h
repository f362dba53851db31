// How many different values a place can still take: what liveness asks where items must be distinct (uniqueItems).
//
// Two ways. A *lower bound* is cheap and nearly always enough: what matters is only whether there are more values than are used.
// Where it is not, the values are *listed*, up to as many as are asked for; a limit on the steps refuses, and never guesses.
//
// Not thread-safe: the owner (Automaton) holds a lock.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "container.h"
#include "expression.h"
#include "json_value.h"

namespace gd {

class ValueCounter {
 public:
  static constexpr uint64_t kMany = ExpressionPool::kManyStrings;

  ValueCounter(const Grammar& grammar, ExpressionPool& expressions, const std::vector<ExprId>& regexes, const ByteSet& alphabet,
               Containers& containers, ValuePool& values);

  // ---- lower bounds: at least so many values ----

  uint64_t values_of_node(NodeId node);
  uint64_t at_least(ExprId rest, std::string_view text);  // scalars that begin with `text`, in state `rest` behind it
  uint64_t ways_to_go_on(RegisterId reg);                 // ways to go on in a container, counted by what they make different

  // ---- unique arrays ----

  // Whether every later item has more values than could be used up, with `num_used` used: then distinctness bars nothing.
  bool is_plenty(RegisterId reg, uint64_t num_used);
  // Whether the array can be finished with distinct items; `used`: the values of the items so far, sorted.
  bool can_finish(RegisterId reg, const std::vector<ValueId>& used);
  // Whether one more item may come, and the array be finished then.
  bool can_go_on(RegisterId reg, const std::vector<ValueId>& used);

  // ---- listing ----

  // Collects different values; `complete` stays true while none was left out for a limit.
  struct Values {
    size_t limit = 0;
    uint32_t depth = 0;  // of nested containers
    bool complete = true;
    std::vector<ValueId> list;
    std::unordered_set<ValueId> known;
    bool is_full() const { return list.size() >= limit; }
    void add(ValueId value) {
      if (known.insert(value).second) list.push_back(value);
    }
    Values like() const { return {limit, depth, true, {}, {}}; }
  };
  // The first round is small; the last one is the limit.
  static constexpr uint32_t kNumRounds = 4;
  static Values round(uint32_t number);

  void list_node(NodeId node, Values& out);
  void list_scalars(ExprId rest, const std::string& text, Values& out);
  // Ways to finish an object with these members so far; `must_take`: at least one more comes.
  void list_objects(RegisterId reg, ListId members, bool must_take, Values& out);
  // Ways to finish an array with these items so far; `used`: their values, sorted, where they must be distinct.
  void list_arrays(RegisterId reg, ListId items, ListId used, bool must_take, Values& out);
  // Texts of a language, shortest first.
  std::vector<std::string> list_texts(ExprId rest, std::string text, size_t limit, bool& complete);

  void spend();  // one step of a search that may be long; throws LimitError
  void start_search() { steps_ = 0; }
  void forget();  // after nodes have turned out to be empty

 private:
  uint64_t at_least_behind_escape(ExprId rest, std::string text);
  uint32_t distance(ExprId rest);
  bool zeros_may_count(ExprId state);
  template <class Found>
  void for_each_text(ExprId rest, std::string text, Found found);
  uint64_t least_of_picks(RegisterId reg);
  uint64_t needed(RegisterId reg);
  bool has_distinct(RegisterId reg, const std::vector<ValueId>& used);
  bool search_distinct(RegisterId reg, std::vector<ValueId> used, uint64_t left);
  void list_objects_from(RegisterId reg, ListId members, size_t from, uint32_t key_from, bool must_take, uint32_t depth,
                         Values& out);
  void list_arrays_from(RegisterId reg, ListId items, ListId used, bool must_take, uint32_t depth, Values& out);
  std::vector<ValueId> domain(NodeId node, const std::vector<ValueId>& used, size_t enough);

  const Grammar& grammar_;
  ExpressionPool& expressions_;
  const std::vector<ExprId>& regexes_;
  ByteSet alphabet_;
  Containers& containers_;
  ValuePool& values_;
  ExprId plain_ = ExpressionPool::kEmpty;               // texts of which no two have the same value
  ExprId plain_string_ = ExpressionPool::kEmpty;        // the rest of one inside a string
  std::unordered_map<ExprId, uint64_t> string_bounds_;  // of states inside strings
  std::unordered_map<ExprId, uint32_t> distances_;
  std::unordered_map<NodeId, uint64_t> node_bounds_;
  std::unordered_map<uint64_t, uint64_t> pick_bounds_;  // by node and the class of the next item
  std::unordered_map<RegisterId, uint64_t> register_bounds_;
  std::unordered_map<uint64_t, Values> listed_;  // by node, limit and depth
  uint64_t steps_ = 0;
};

}  // namespace gd
