// The tokens of a model: as a trie, by what they begin with, by the characters in them.
// Immutable after construction, except the cache of tables and covers, which has its own lock.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "byte_set.h"
#include "fork_safe_mutex.h"
#include "hashing.h"
#include "recent_cache.h"
#include "token_set.h"
#include "trie.h"

namespace gd {

struct TerminalTable;

// The tokens that stay within a scalar in some state, by what is left of it behind them (completion.h).
struct ScalarDistances {
  std::vector<std::pair<uint32_t, TokenSet>> sets;  // increasing
  size_t memory_bytes() const {
    size_t bytes = sizeof(ScalarDistances);
    for (const auto& [cost, set] : sets) bytes += sizeof(set) + set.memory_bytes();
    return bytes;
  }
};

// The tokens that begin with JSON whitespace: how long the run is, and what comes behind it. A place where whitespace may stand reads
// the run first, and what follows does not depend on how long it was.
struct WhitespaceRuns {
  // [n] = the tokens that are a run of n bytes and nothing else.
  std::vector<std::vector<TokenId>> pure;
  // [n] = the rests of the tokens that begin with a run of exactly n bytes (n >= 1; [0] is empty), and all of them together.
  std::vector<Trie> rests;
  Trie all_rests;
};

// The tokens whose characters are all of some groups (byte_groups.h), as a mask.
struct Cover {
  GroupSet groups = 0;
  TokenSet tokens;
};

class Vocabulary {
 public:
  // `tokens[i]` is the bytes of token i, nullopt for a token that is never text. `size` >= tokens.size() is the padded width of
  // the model. Stop tokens are never text. Throws VocabularyError if no token is left, or one is longer than 65,535 bytes.
  Vocabulary(std::vector<std::optional<std::string>> tokens, std::vector<TokenId> stop_tokens, uint32_t size);

  uint32_t size() const { return size_; }
  uint32_t num_words() const { return (size_ + 31) / 32; }
  const std::vector<TokenId>& stop_tokens() const { return stop_tokens_; }
  bool is_text(TokenId token) const { return token < tokens_.size() && tokens_[token].has_value() && !tokens_[token]->empty(); }
  const std::string& text(TokenId token) const { return *tokens_[token]; }
  const Trie& trie() const { return trie_; }
  const WhitespaceRuns& whitespace_runs() const { return whitespace_runs_; }
  const ByteSet& alphabet() const { return alphabet_; }  // the bytes that are tokens by themselves
  // Tokens that may close the same key twice in one object.
  const std::vector<TokenId>& twice_a_key() const { return twice_a_key_; }
  // Tokens that may hold all of an item and something of the next: where items must be distinct, they are tried one by one.
  const std::vector<TokenId>& item_pairs() const { return item_pairs_; }
  // Those of them that may do so in an array that they open themselves.
  const std::vector<TokenId>& opened_item_pairs() const { return opened_item_pairs_; }
  // The tokens that hold a special character or a wide space (byte_groups.h).
  const Trie& unusual() const { return unusual_; }
  // The characters of a token, an unfinished one at the end counted, and whether all are plain.
  uint32_t length(TokenId token) const { return lengths_[token] & ~kIsPlain; }
  bool is_plain(TokenId token) const { return (lengths_[token] & kIsPlain) != 0; }
  // The tokens of plain characters by how many they have (an unfinished one at the end counts); [0] is empty.
  const std::vector<std::vector<TokenId>>& plain_by_length() const { return plain_by_length_; }
  // Those of at most `length` characters, as a mask; null if all are.
  std::shared_ptr<const TokenSet> plain_up_to(uint32_t length) const;
  // The tokens that are runs of at most `run` bytes of whitespace, as a mask.
  std::shared_ptr<const TokenSet> whitespace_up_to(uint32_t run) const;
  std::shared_ptr<const Cover> cover(GroupSet groups) const;
  // Trie::merge, and remembered where nothing is left out.
  std::shared_ptr<const Trie> residual(std::vector<Trie::Place> places, const uint32_t* without) const;
  size_t memory_bytes() const;

  // Terminal tables, shared by every grammar of this vocabulary. find returns null if absent. Thread-safe.
  std::shared_ptr<const TerminalTable> find_table(const Hash128& key) const;
  std::shared_ptr<const TerminalTable> add_table(const Hash128& key, std::shared_ptr<const TerminalTable> table) const;

  std::shared_ptr<const ScalarDistances> find_distances(const Hash128& key) const;
  void add_distances(const Hash128& key, const std::shared_ptr<const ScalarDistances>& distances) const;

  // The most values and containers that one token can begin, outside of strings.
  uint32_t most_begun() const { return most_begun_; }

  // Tables, covers and residuals together. What is forgotten is made again when it is needed; 0: nothing is remembered.
  static constexpr size_t kDefaultTableLimit = size_t{128} << 20;
  void set_table_limit(size_t bytes) const;
  size_t table_memory_bytes() const;
  void clear_tables() const;

 private:
  void sort_by_groups();

  std::vector<std::optional<std::string>> tokens_;
  std::vector<TokenId> stop_tokens_;
  uint32_t size_;
  uint32_t most_begun_ = 0;
  Trie trie_;
  WhitespaceRuns whitespace_runs_;
  ByteSet alphabet_;
  std::vector<TokenId> twice_a_key_;
  std::vector<TokenId> item_pairs_, opened_item_pairs_;
  Trie unusual_;
  std::vector<uint32_t> texts_;       // all tokens with text, as a mask
  std::vector<TokenSet> with_group_;  // [g] = tokens that hold a character of group g
  static constexpr uint32_t kIsPlain = uint32_t{1} << 31;
  std::vector<uint32_t> lengths_;  // by token, with kIsPlain
  std::vector<std::vector<TokenId>> plain_by_length_;

  // The caches below, under the lock.
  template <class Cache, class Key, class Value>
  void remember(Cache& cache, const Key& key, const Value& value, size_t bytes, size_t held_bytes = 0) const;
  std::shared_ptr<const TokenSet> up_to(RecentCache<uint32_t, std::shared_ptr<const TokenSet>>& cache,
                                        const std::vector<std::vector<TokenId>>& by_length, uint32_t length) const;
  void age() const;

  mutable ForkSafeMutex tables_mutex_;
  mutable CacheBudget budget_{kDefaultTableLimit};
  mutable RecentCache<Hash128, std::shared_ptr<const TerminalTable>, Hash128Hasher> tables_{budget_};
  mutable RecentCache<GroupSet, std::shared_ptr<const Cover>> covers_{budget_};
  mutable RecentCache<uint32_t, std::shared_ptr<const TokenSet>> plain_up_to_{budget_}, whitespace_up_to_{budget_};
  mutable RecentCache<Hash128, std::shared_ptr<const Trie>, Hash128Hasher> residuals_{budget_};
  mutable RecentCache<Hash128, std::shared_ptr<const ScalarDistances>, Hash128Hasher> distances_{budget_};
};

}  // namespace gd
