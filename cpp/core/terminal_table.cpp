#include "terminal_table.h"

#include <algorithm>
#include <bit>

namespace gd {
namespace {

// Characters that cover many tokens, or none: a mask for a few is not worth it.
GroupSet worthwhile(GroupSet groups) {
  constexpr int kManyLetters = 15;
  return std::popcount(groups & kLetterGroups) >= kManyLetters ? groups : 0;
}

// The groups of the letters in a set.
GroupSet letters(const ByteSet& bytes) {
  GroupSet groups = 0;
  bytes.for_each([&](uint8_t byte) { groups |= byte < 0x80 ? kAsciiGroups[byte] & kLetterGroups : 0; });
  return groups;
}

// Collects the tokens inside: those of a cover, and single ones.
class Inside {
 public:
  Inside(const Vocabulary& vocabulary, GroupSet groups) : num_words_(vocabulary.num_words()) {
    if (groups == 0) return;
    cover_ = vocabulary.cover(groups);
    words_ = cover_->tokens.words();
  }
  const std::shared_ptr<const Cover>& cover() const { return cover_; }
  // All of them as a mask.
  const uint32_t* words() {
    if (words_.empty()) make_words();
    return words_.data();
  }
  void add(const Trie& trie, uint32_t first, uint32_t last) {
    if (first == last) return;
    if (words_.empty() && others_.size() + (last - first) > kFew) make_words();
    for (uint32_t t = first; t < last; ++t) {
      const TokenId token = trie.token(t);
      if (words_.empty()) {
        if (std::find(others_.begin(), others_.end(), token) != others_.end()) continue;
      } else {
        if (has_token(words_.data(), token)) continue;
        set_token(words_.data(), token);
      }
      others_.push_back(token);
    }
  }
  TokenSet others() && { return TokenSet::from_ids(std::move(others_), num_words_); }

 private:
  static constexpr size_t kFew = 16;  // are looked through; a mask of more

  void make_words() {
    words_.assign(num_words_, 0);
    for (const TokenId token : others_) set_token(words_.data(), token);
  }

  std::shared_ptr<const Cover> cover_;
  size_t num_words_;
  std::vector<uint32_t> words_;
  std::vector<TokenId> others_;
};

// The trie whose nodes a walk has to see: where all tokens of usual characters are covered, that of the others.
const Trie& trie_beside(const Trie& trie, const Inside& inside, const Vocabulary& vocabulary) {
  constexpr GroupSet kUsual = kPlainGroups & ~kWideSpaceGroup;
  const bool all_usual = &trie == &vocabulary.trie() && inside.cover() != nullptr && (inside.cover()->groups & kUsual) == kUsual;
  return all_usual ? vocabulary.unusual() : trie;
}

}  // namespace

size_t TerminalTable::memory_bytes() const {
  size_t bytes = sizeof(TerminalTable) + inside.memory_bytes() + residual->memory_bytes() + 4 * exit_tokens.capacity();
  bytes += by_length.memory_bytes();
  for (const std::vector<TokenId>& list : by_need) bytes += 4 * list.capacity() + sizeof(list);
  for (const Exit& exit : exits) bytes += sizeof(Exit) + 4 * exit.tokens.capacity() + exit.residual.memory_bytes();
  return bytes;
}

std::shared_ptr<const TerminalTable> build_table(ExpressionPool& pool, ExprId e, const Vocabulary& vocabulary,
                                                 const std::vector<const Trie*>& tries) {
  GroupSet groups = worthwhile(pool.cover(e));
  if (groups == 0 && worthwhile(letters(pool.live_bytes(e))) != 0) groups = worthwhile(pool.explored_cover(e));
  Inside inside(vocabulary, groups);
  struct Place {
    const ExprId* row = nullptr;
    GroupSet cover = 0;     // tokens that go on from here with these characters only are inside
    bool is_added = false;  // and are in `inside` already
  };
  std::vector<Trie::Place> completing;  // behind which the terminal is complete, with tokens below
  bool may_go_on = false;               // whether it may go on there, too
  std::vector<Place> places;
  for (const Trie* all : tries) {
    const Trie& trie = trie_beside(*all, inside, vocabulary);
    places.resize(std::max<size_t>(places.size(), trie.max_depth() + 1));
    places[0] = {pool.transitions(e), groups != 0 ? groups : pool.cover(e), all == &vocabulary.trie() && inside.cover() != nullptr};
    trie.for_each_root(pool.live_bytes(e), [&](uint32_t i, uint32_t end) {
      while (i < end) {
        const uint32_t depth = trie.depth(i);
        const Place& from = places[depth];
        if ((trie.groups(i) & ~from.cover) == 0) {
          if (!from.is_added) inside.add(trie, trie.first_token(i), trie.first_token(trie.end(i)));
          i = trie.end(i);
          continue;
        }
        const uint8_t byte = trie.byte(i);
        const ExprId next = from.row[byte];
        if (next == ExpressionPool::kEmpty) {
          i = trie.end(i);
          continue;
        }
        inside.add(trie, trie.first_token(i), trie.first_token(i + 1));
        const bool is_leaf = trie.end(i) == i + 1;
        if (pool.nullable(next) && !is_leaf) {
          completing.push_back({&trie, i});
          may_go_on = may_go_on || next != ExpressionPool::kEpsilon;
        }
        if (next == ExpressionPool::kEpsilon || is_leaf) {
          i = trie.end(i);
          continue;
        }
        Place& to = places[depth + 1];
        to.row = pool.transitions(next);
        if ((trie.own_group(i) & from.cover) != 0) {
          to.cover = from.cover;
          to.is_added = from.is_added;
        } else {
          to.cover = byte < 0x80 ? pool.cover(next) : 0;
          to.is_added = false;
        }
        ++i;
      }
    });
  }
  auto table = std::make_shared<TerminalTable>();
  table->residual = vocabulary.residual(std::move(completing), may_go_on ? inside.words() : nullptr);
  table->cover = inside.cover();
  table->inside = std::move(inside).others();
  return table;
}

uint32_t units_needed(ExpressionPool& pool, const ExpressionPool::CountedRun& run, std::string_view text) {
  ExprId state = run.state;
  ExprId counter = run.counter;
  uint32_t units = 0;
  for (const char c : text) {
    units += counter == run.loop ? 1 : 0;
    state = pool.step(state, static_cast<uint8_t>(c));
    counter = pool.step(counter, static_cast<uint8_t>(c));
    if (state == ExpressionPool::kEmpty || counter == ExpressionPool::kEmpty) return kNone;
  }
  const uint32_t missing = run.bounded ? pool.missing_units(run, state, counter) : 0;
  return missing == kNone ? kNone : units + missing;
}

std::shared_ptr<const TerminalTable> build_counted_table(ExpressionPool& pool, const ExpressionPool::CountedRun& run,
                                                         const Vocabulary& vocabulary, const std::vector<const Trie*>& tries) {
  auto table = std::make_shared<TerminalTable>();
  static const auto no_residual = std::make_shared<const Trie>();
  table->residual = no_residual;
  table->countable = false;
  if (pool.nullable(run.rest) || pool.nullable(run.unit)) return table;
  // Only what is in doubt at first sight is followed byte by byte. A character of `units` is one unit.
  const bool is_apart = !pool.live_bytes(run.unit).intersects(pool.live_bytes(run.rest));
  const GroupSet units = is_apart ? pool.unit_characters(run.loop) : 0;
  const GroupSet groups = run.in_run ? worthwhile(pool.steady_cover(run.state) & units) : 0;
  const uint32_t missing = run.bounded ? pool.missing_units(run, run.state, run.counter) : 0;
  if (missing == kNone) return table;
  Inside inside(vocabulary, groups);
  struct Place {
    ExprId state = 0;
    ExprId counter = 0;
    uint32_t units = 0;     // begun so far
    uint32_t length = 0;    // characters
    bool left = false;      // behind the run, in R
    GroupSet cover = 0;     // tokens that go on from here with these characters only stay in the run, and need no more than those
    bool is_added = false;  // and are in `inside` already
  };
  std::vector<std::vector<TokenId>> by_need;
  struct Completing {
    Trie::Place place;
    uint32_t units;
  };
  std::vector<Completing> completing;
  bool may_go_on = false;                                                                     // whether R may go on there, too
  std::vector<std::pair<uint32_t, TokenId>> exit_tokens;                                      // units, token
  std::vector<uint32_t> all_inside(inside.words(), inside.words() + vocabulary.num_words());  // and those that end within R
  std::vector<Place> places;
  bool is_countable = true;
  std::vector<uint32_t> by_length(vocabulary.num_words(), 0);
  std::vector<TokenId> others;
  const auto file = [&](uint32_t need, TokenId token) {
    if (has_token(all_inside.data(), token)) return;
    set_token(all_inside.data(), token);
    if (vocabulary.is_plain(token) && need == vocabulary.length(token)) {
      set_token(by_length.data(), token);
      return;
    }
    if (by_need.size() <= need) by_need.resize(need + 1);
    by_need[need].push_back(token);
    others.push_back(token);
  };
  for (const Trie* all : tries) {
    const Trie& trie = trie_beside(*all, inside, vocabulary);
    const bool is_whole = all == &vocabulary.trie();
    places.resize(std::max<size_t>(places.size(), trie.max_depth() + 1));
    places[0] = {run.state, run.counter, 0, 0, false, is_whole ? groups : 0, is_whole};
    trie.for_each_root(pool.live_bytes(run.state), [&](uint32_t i, uint32_t end) {
      while (i < end && is_countable) {
        const uint32_t depth = trie.depth(i);
        const uint8_t byte = trie.byte(i);
        const Place& from = places[depth];
        if ((trie.groups(i) & ~from.cover) == 0) {
          // All tokens below have the same beginning.
          const bool is_plain = vocabulary.is_plain(trie.token(trie.first_token(i)));
          if (!from.is_added && from.units == from.length && is_plain) {
            set_tokens(trie, trie.first_token(i), trie.first_token(trie.end(i)), by_length.data());
          } else if (!from.is_added) {
            for (uint32_t t = trie.first_token(i); t < trie.first_token(trie.end(i)); ++t) {
              file(from.units + vocabulary.length(trie.token(t)) - from.length, trie.token(t));
            }
          }
          i = trie.end(i);
          continue;
        }
        Place to;
        to.state = pool.step(from.state, byte);
        if (to.state == ExpressionPool::kEmpty) {
          i = trie.end(i);
          continue;
        }
        to.units = from.units;
        to.left = from.left;
        to.length = from.length + ((byte & 0xC0) == 0x80 ? 0 : 1);
        if ((trie.own_group(i) & from.cover) != 0) {
          to.cover = from.cover;
          to.is_added = from.is_added;
        }
        if (!from.left) {
          const bool between = from.counter == run.loop;
          to.counter = pool.step(from.counter, byte);
          to.left = to.counter == ExpressionPool::kEmpty;
          // It has to be plain what the byte belongs to: only R may lead out, only between units, and a unit has a plain end.
          if (to.left) {
            is_countable = between;
          } else {
            if (between) ++to.units;
            is_countable = pool.ends_with(to.counter, run.loop) && !(between && pool.live_bytes(run.rest).contains(byte));
          }
        }
        const bool is_leaf = trie.end(i) == i + 1;
        const uint32_t first = trie.first_token(i);
        const uint32_t last = trie.first_token(i + 1);
        if (to.left) {
          for (uint32_t t = first; t < last; ++t) {
            exit_tokens.emplace_back(to.units, trie.token(t));
            set_token(all_inside.data(), trie.token(t));
          }
          if (pool.nullable(to.state) && !is_leaf) {
            completing.push_back({{&trie, i}, to.units});
            may_go_on = may_go_on || to.state != ExpressionPool::kEpsilon;
          }
        } else if (first != last) {
          const bool none_missing = !run.bounded || (to.cover != 0 && (!to.is_added || missing == 0));
          const uint32_t after = none_missing ? 0 : pool.missing_units(run, to.state, to.counter);
          if (after == kNone) is_countable = false;
          if (!is_countable) return;
          const uint32_t need = to.units + after;
          for (uint32_t t = first; t < last; ++t) file(need, trie.token(t));
        }
        if (to.cover == 0 && is_whole && byte < 0x80 && to.counter == run.loop && !to.left && !is_leaf) {
          if (!run.bounded || pool.missing_units(run, to.state, to.counter) == 0) to.cover = pool.steady_cover(to.state) & units;
        }
        places[depth + 1] = to;
        ++i;
      }
    });
  }
  if (!is_countable) return table;
  table->countable = true;
  table->missing = missing;
  table->cover = inside.cover();
  table->inside = TokenSet::from_ids(std::move(others), vocabulary.num_words());
  for (size_t w = 0; w < by_length.size(); ++w) {
    by_length[w] &= ~inside.words()[w];
    all_inside[w] |= by_length[w];
  }
  table->by_length = TokenSet::from_mask(by_length.data(), by_length.size());
  table->by_need = std::move(by_need);

  std::vector<Trie::Place> all;
  uint32_t max_units = 0;
  for (const auto& [units, token] : exit_tokens) {
    table->exit_tokens.push_back(token);
    max_units = std::max(max_units, units);
  }
  for (const Completing& c : completing) {
    max_units = std::max(max_units, c.units);
    all.push_back(c.place);
  }
  for (uint32_t units = 0; units <= max_units; ++units) {
    TerminalTable::Exit exit;
    exit.units = units;
    for (const auto& [u, token] : exit_tokens) {
      if (u == units) exit.tokens.push_back(token);
    }
    std::vector<Trie::Place> behind;
    for (const Completing& c : completing) {
      if (c.units == units) behind.push_back(c.place);
    }
    if (exit.tokens.empty() && behind.empty()) continue;
    exit.residual = Trie::merge(std::move(behind), all_inside.data());
    table->exits.push_back(std::move(exit));
  }
  table->residual = vocabulary.residual(std::move(all), may_go_on ? all_inside.data() : nullptr);
  return table;
}

}  // namespace gd
