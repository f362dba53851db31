// How far a place is from the end of a document: an upper bound, in tokens or in bytes, that can be kept step by step.
//
// What is promised (and all that the termination guarantee needs): from a configuration of distance n > 0 some token leads to one of
// distance n - 1 at most, and distance 0 accepts. A distance comes from a witness, a text that finishes the document; every place on
// its way is remembered with what it costs from there, and nothing that was remembered is raised or lowered later.
//
// Distances are compositional, so that most are two look-ups and a sum: a thread costs what is left of its innermost value, and then
// what its chain of parents costs. Values of nodes are a least fixed point (Knuth 1977, a generalization of Dijkstra's algorithm);
// of containers with alternatives, a search over registers (A*). In bytes the distance is the least one, except where items have to be
// distinct or keys must not repeat; in tokens it is a bound, because texts are not merged across values.
//
// Not thread-safe: the owner (Engine) holds a lock.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "automaton.h"
#include "shortest_text.h"
#include "text_cost.h"

namespace gd {

class Completion {
 public:
  // `tokens`: the vocabulary's, or null to count bytes. Finds the distances of all nodes: about as much work as compiling.
  Completion(Automaton& automaton, const Trie* tokens);

  Cost of_config(ConfigId c);
  Cost of_frame(FrameId f);
  // Whether every thread is farther than `limit` from the end where items need not be distinct.
  bool is_beyond(ConfigId c, Cost limit);
  Cost of_scalar(ExprId e);  // of a state within a scalar, to its end
  // Behind the first `depth` bytes of a name that may come, to the end of its object; kFar if it may not come.
  Cost of_name(RegisterId reg, uint32_t sorted_name, uint32_t depth);
  // A bound of `of_scalar` for every state that one more token or many can lead to.
  Cost farthest_scalar(ExprId e);
  // How much farther from the end one token can lead that begins at most `num_begun` values and containers; kFar if that is not known.
  Cost margin(uint32_t num_begun);
  // A text that finishes the document from c, of the distance of c. Throws LimitError if it has more than `max_bytes`.
  std::string text(ConfigId c, size_t max_bytes);
  // Notes a witness that is cheaper than its parts say: the places that it passes, and what it costs from each. Before anything else is
  // asked for.
  void note(const std::vector<std::pair<ConfigId, Cost>>& way);
  const TextCost& texts() const { return texts_; }
  size_t memory_bytes() const;

 private:
  static uint64_t pair(uint32_t a, uint32_t b) { return (uint64_t{a} << 32) | b; }
  static Cost& at(std::vector<Cost>& table, uint32_t index, Cost unknown) {
    if (table.size() <= index) table.resize(std::max<size_t>(index + 1, table.size() * 2), unknown);
    return table[index];
  }
  static constexpr Cost kUnknown = 0xFFFFFFFF;
  // The next entry of a container: what is written from the key (behind its opening quote) or the value on, and what is left at each byte
  // of it. An item has no text of its own.
  struct Entry {
    ClassId cls = kNone;
    RegisterId next = kNone;  // kNone: there is no entry to be had
    NodeId value = 0;
    std::string text;         // objects: the rest of the key, its quote, the separator
    std::vector<Cost> costs;  // by position in `text`; the last one is of the value and all that follows in the container
    Cost cost() const { return next == kNone ? kFar : costs.front(); }
  };

  struct Step {  // of a way through the registers of a container
    RegisterId reg = 0;
    ClassId cls = 0;
    Containers::Entry way{};
  };

  Cost of_watched(FrameId f);
  void search_watched(FrameId start);
  bool is_plain(FrameId f);
  std::vector<uint8_t> tried_bytes(FrameId f);
  std::string text_of_frame(FrameId f, size_t max_bytes);
  void settle();
  void forget();
  Cost compute_node(NodeId id);
  Cost parts(const Node& chain, uint32_t from);
  Cost local(const Frame& f);
  Cost opened(RegisterId reg);
  Cost after(RegisterId reg);                               // behind an entry, with what closes the container
  Cost next_from(RegisterId reg, std::string_view prefix);  // before an entry that has to come: `prefix`, then the entry
  const Entry& entry(RegisterId reg);
  std::optional<Cost> after_plain(RegisterId reg);
  void find_entry(RegisterId reg);
  bool share_entries(RegisterId reg);
  std::optional<Step> plain_step(RegisterId reg);
  std::vector<Step> search(RegisterId reg);
  std::vector<Step> search(RegisterId start, bool is_greedy, size_t most_reached, size_t& num_reached);
  bool is_progress(RegisterId reg, ClassId cls, RegisterId next);
  std::optional<Cost> take_key(Step& step);
  Entry make_entry(RegisterId reg, ClassId cls, const Containers::Entry& way);
  Entry pattern_entry(RegisterId reg, uint32_t pattern, const Containers::Entry& way, KeyId key);
  std::optional<std::string> unused_key(RegisterId reg, ExprId state, const KeyPosition& k);
  Cost key_cost(RegisterId reg, KeyId key);
  std::optional<Cost> new_key_cost(RegisterId reg, const KeyPosition& k);
  std::vector<TextId> keys_behind(RegisterId reg);
  Entry key_entry(RegisterId reg, KeyId key);
  Cost most_of_container(NodeId id);
  Cost name_tail(RegisterId reg, ClassId cls);
  const std::vector<Cost>& name_costs(NodeId node, ClassId cls);
  Cost lower_bound(RegisterId reg);
  Cost bound_after(RegisterId reg);  // the same, remembered
  struct Bound {
    Cost names = 0;    // of names that must come and are not required anyway
    Cost entries = 0;  // of entries, whatever they are
  };
  Bound lower_bound(RegisterId reg, FormulaId formula);
  Cost segment(NodeId node, ClassId cls);  // separator, key and colon of a name; the separator of an item
  Cost class_cost(NodeId node, ClassId cls);
  Cost claim_cost(NodeId node, uint32_t claim);
  Cost cheapest(NodeId node);
  const std::vector<ClassId>& by_cost(NodeId node);
  std::vector<ClassId> candidates(RegisterId reg, bool must_take);
  void collect_classes(const Node& n, FormulaId formula, std::vector<ClassId>& out, bool& any);
  std::string value_text(NodeId node, size_t max_bytes);
  std::string local_text(const Frame& f, size_t max_bytes);
  std::string rest_of_container(RegisterId reg, bool must_take, std::string_view prefix, size_t max_bytes);

  Automaton& automaton_;
  Containers& containers_;
  ExpressionPool& expressions_;
  const Grammar& grammar_;
  TextCost texts_;
  ShortestTexts shortest_;
  std::vector<Cost> nodes_;             // by node, of a value
  std::vector<Cost> scalars_, peaks_;   // by expression, grown on demand; the dearest place on the way from there
  std::vector<Cost> frames_, configs_;  // by frame and configuration, grown on demand
  std::unordered_map<FrameId, Cost> noted_frames_;
  std::unordered_map<ConfigId, Cost> noted_configs_;
  std::unordered_map<ExprId, Cost> farthest_;
  Cost most_of_scalars_ = kUnknown, most_of_containers_ = 0;  // see margin
  struct Way {                                                // of a watched thread: the next one on the way to the end
    FrameId next = 0;
    uint8_t byte = 0;
  };
  std::unordered_map<FrameId, Way> ways_;
  // By register: what stands behind an entry, and the next entry.
  std::unordered_map<RegisterId, Cost> after_, bounds_;
  std::unordered_map<RegisterId, Entry> entries_;
  std::unordered_map<uint64_t, Cost> key_costs_;                  // by register and key position
  std::unordered_map<RegisterId, std::vector<Cost>> name_tails_;  // by sorted name
  struct NewKey {  // by register and patterns: any key that is not written on the way
    Cost cost = kFar;
    std::vector<TextId> behind;  // the keys of that way
  };
  std::unordered_map<uint64_t, NewKey> new_keys_;
  // By node and class: what the text from each byte of the name costs (its quote and the separator included), and what stands before
  // the value all in all.
  std::unordered_map<NodeId, std::vector<std::vector<Cost>>> name_costs_;
  std::unordered_map<uint64_t, Cost> segments_;
  std::unordered_map<NodeId, std::vector<ClassId>> by_cost_;
  std::unordered_map<uint64_t, Cost> claim_costs_;  // by node and claim
  size_t search_credit_ = 5'000;                    // what searches for a cheapest way may reach: a bound of their work in all
};

}  // namespace gd
