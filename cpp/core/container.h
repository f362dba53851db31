// Objects and arrays: what has been read of one (its register), what may come next, and whether it can still be finished.
//
// A register is a whole state, never a clamped one (DESIGN 5): two registers are the same id exactly if they are equal, and where
// a count stops mattering the register stops counting, in `next_count` and nowhere else.
//
// Not thread-safe: the owner (Automaton) holds a lock.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "expression.h"
#include "formula.h"
#include "grammar.h"
#include "hashing.h"
#include "text_pool.h"

namespace gd {

using RegisterId = uint32_t;

struct Register {
  NodeId node = 0;
  uint32_t position = 0;  // objects: the lowest rank that may still come
  uint32_t count = 0;     // entries so far, up to where it stops mattering
  uint32_t seen = 0;      // objects: which unranked names have been read (id of a bit set)
  uint32_t used = 0;      // objects: the pattern keys that have been read (id of a sorted list of texts)
  FormulaId formula = FormulaPool::kTrue;
  bool operator==(const Register&) const = default;
};

class Containers {
 public:
  Containers(const Grammar& grammar, ExpressionPool& expressions, const std::vector<ExprId>& regexes, const ByteSet& alphabet,
             const Limits& limits);

  // Emptiness of nodes: the owner sets what it finds (least fixed point), then calls freeze(); registers are asked for after.
  bool could_finish(NodeId container);  // with the nodes known to be live so far
  void set_live(NodeId node, bool live = true) { live_[node] = live; }
  bool is_live(NodeId node) const { return live_[node]; }
  void freeze() { frozen_ = true; }
  void forget();  // answers that rest on nodes which have turned out to be empty

  RegisterId initial(NodeId node);
  const Register& operator[](RegisterId id) const { return registers_[id]; }
  const Node& node(RegisterId id) const { return grammar_.nodes[registers_[id].node]; }
  bool can_close(RegisterId id);

  struct Entry {
    RegisterId next;  // the register behind this entry
    NodeId value;
  };
  // The ways to read an entry of class `cls` now; none if it can't come. The reference stays valid.
  const std::vector<Entry>& entries(RegisterId id, ClassId cls);
  // The class of the next item of an array.
  ClassId item_class(RegisterId id) const;
  // `id` with one more used key text; kNone if it could not be finished then.
  RegisterId with_used(RegisterId id, TextId text);

  // ---- keys ----

  // Whether one of the sorted names from `low` up to `high` may be read as a key now. In an object of many alternatives each name costs a
  // search, so that they are asked about one by one, and no more of them than it takes.
  bool any_name_may_come(RegisterId id, uint32_t low, uint32_t high);
  // The patterns of which a key may be read now. `spare`, for each of them: whether a key of single-byte tokens may be. A key with another
  // byte takes none of those away, and may be possible where this is false.
  struct PatternMenu {
    std::vector<uint32_t> patterns;
    std::vector<bool> spare;
  };
  const PatternMenu& pattern_menu(RegisterId id) { return menu(id).patterns; }
  // Whether there is a name or a pattern that can spare a key.
  bool any_key_may_come(RegisterId id);
  const std::vector<std::string_view>& sorted_names(NodeId node) { return info(node).sorted_names; }
  ClassId sorted_name_class(NodeId node, uint32_t sorted_index) { return info(node).sorted_to_class[sorted_index]; }
  const std::vector<TextId>& used_texts(RegisterId id) const { return used_sets_[registers_[id].used]; }
  TextPool& texts() { return texts_; }

  // ---- for listing the values of an object ----

  // The names in an order in which every set of them can be read: ranked ones by rank, then required ones, then the others.
  const std::vector<ClassId>& listing_order(NodeId node) { return info(node).listing_order; }
  bool is_missing(RegisterId id, ClassId name);  // required, and not read yet

  // ---- for the way to the end (completion.h) ----

  const FormulaPool& formulas() const { return formulas_; }
  bool is_open(RegisterId id, ClassId cls) { return is_open(Register(registers_[id]), cls); }
  // Whether an entry of the class may be read with nothing relied on: its value node; kNone if not.
  NodeId plain_value(NodeId node, ClassId cls);
  uint32_t entries_missing(RegisterId id);               // up to the minimum
  RegisterId with_used_key(RegisterId id, TextId text);  // whether or not it can be finished then
  // The same with no used keys but those whose text is not known; with those of `other` as well; how many keys both have used.
  RegisterId without_used(RegisterId id);
  RegisterId with_all_used(RegisterId id, RegisterId other);
  size_t num_used_by_both(RegisterId id, RegisterId other) const;

  size_t memory_bytes() const;  // O(1)

 private:
  struct Info {  // what is derived from a container node once
    bool ready = false;
    std::vector<std::string_view> sorted_names;
    std::vector<ClassId> sorted_to_class;
    std::vector<bool> spellable;  // by name
    uint32_t max_count = kNone;   // of the node, less what the vocabulary can't punctuate
    uint32_t num_ranks = 0;
    std::vector<ClassId> by_rank;          // name of each rank, kNone where there is none
    std::vector<uint32_t> required_below;  // [r] = required names with rank < r
    std::vector<ClassId> required_unranked;
    std::vector<bool> is_required;  // by name
    std::vector<ClassId> listing_order;
    bool counts = false;          // the register has to count
    uint32_t count_stop = kNone;  // counting stops here (no maximum)
    FormulaId formula = FormulaPool::kTrue;
    // By class, unless the formula is true: the claims that may speak of the way in which an entry is read, and those of its presence;
    // all of these; and the claims that count entries of any class.
    std::vector<ClaimBits> speaking, presence;
    std::vector<std::vector<uint32_t>> claims_of;
    std::vector<uint32_t> counting;
  };

  // What may be read as a key in a state: what is known of it so far.
  struct Menu {
    PatternMenu patterns;
    bool has_room = false;               // for one more entry
    std::vector<uint64_t> asked, names;  // bits over the sorted names: those that were asked about, and those that may come
  };

  struct Goal;

  Info& info(NodeId node) { return infos_[node].ready ? infos_[node] : derive_info(node); }
  Info& derive_info(NodeId node);
  bool is_spellable(std::string_view text) const;
  void describe_names(const Node& n, Info& i) const;
  FormulaId first_formula(const Node& n);
  static void file_claims(const Node& n, Info& i);
  RegisterId intern(const Register& r);
  uint32_t intern_seen(std::vector<uint64_t> bits);
  uint32_t add_used(uint32_t used, TextId text);
  bool is_seen(const Register& r, ClassId name) const;
  bool is_open(const Register& r, ClassId cls);
  bool pick_is_live(const Node& n, ClassId cls, const Pick& pick);
  const Pick* find_pick(const Node& n, ClassId cls, const std::vector<uint32_t>& claims);
  std::vector<FormulaPool::Relevance> relevance(NodeId node, ClassId cls);
  uint32_t next_count(const Info& i, uint32_t count) const;
  Register advance(const Register& r, ClassId cls, const std::vector<uint32_t>& claims);
  bool is_any_open(const Register& r, const Claim& claim);
  ClaimBits changed_by(const Register& r, const Register& next, ClassId cls, const std::vector<uint32_t>& claims);
  bool has_room(const Register& r);
  bool order_allows(const Register& r, ClassId cls);
  bool name_may_come(RegisterId id, ClassId cls);
  Menu& menu(RegisterId id);
  bool is_finite(const Node& n, uint32_t pattern);
  bool can_spare(RegisterId id, uint32_t pattern);
  uint64_t pattern_capacity(const Register& r, uint32_t pattern);
  bool satisfiable(const Register& r);
  bool satisfiable(RegisterId id);
  enum class Verdict { kNo, kYes, kOpen };
  Verdict judge(const Register& r, FormulaId f, const Goal& goal);
  bool assume(const Register& r, const FormulaPool::Item& item, Goal& goal);
  bool is_readable(const Node& n, ClassId cls, const std::vector<uint32_t>& members);
  bool search(const Register& r, std::vector<FormulaId> pending, Goal goal, size_t& steps);
  bool realizable(const Register& r, Goal& goal, size_t& steps);
  bool realizable_object(const Register& r, Goal& goal, size_t& steps);
  bool fill_object(const Register& r, Goal& goal, std::vector<ClassId>& must, std::vector<ClassId>& spent, size_t& steps);
  bool fill_array(const Register& r, Goal& goal, uint64_t index, uint32_t depth, size_t& steps);
  void spend(size_t& steps) const;

  const Grammar& grammar_;
  ExpressionPool& expressions_;
  const std::vector<ExprId>& regexes_;
  ByteSet alphabet_;
  bool full_alphabet_;
  Limits limits_;
  bool frozen_ = false;
  std::vector<bool> live_;
  std::vector<Info> infos_;
  FormulaPool formulas_;
  TextPool texts_;
  std::vector<Register> registers_;
  HashIndex register_index_;
  std::vector<uint8_t> satisfiable_;  // by register: 0 unknown, 1 no, 2 yes
  std::vector<std::vector<uint64_t>> seen_sets_;
  HashIndex seen_index_;
  std::vector<std::vector<TextId>> used_sets_;
  HashIndex used_index_;
  std::unordered_map<uint64_t, std::vector<Entry>> entries_;
  std::vector<std::unique_ptr<Menu>> menus_;
  size_t menu_bytes_ = 0;
  size_t entry_bytes_ = 0;
  size_t used_bytes_ = 0;
};

}  // namespace gd
