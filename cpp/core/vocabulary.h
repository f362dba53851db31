// The tokens of a model as a prefix trie in depth-first arrays: one forward scan with skips visits any part of it.
// Immutable after construction, except the table cache, which has its own lock.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "byte_set.h"
#include "hashing.h"
#include "token_mask.h"

namespace gd {

using TokenId = uint32_t;

// Depth-first arrays. Node i has the byte that leads to it, the depth of its parent, the index just behind its subtree, and the
// range [first_token(i), first_token(i + 1)) of `tokens` that end at it. The tokens of its subtree are
// [first_token(i), first_token(end(i))), contiguous too.
class Trie {
 public:
  // `entries`: byte strings with their tokens; any order, repeats allowed. Empty strings are left out.
  static Trie build(std::vector<std::pair<std::string_view, TokenId>> entries);

  uint32_t size() const { return static_cast<uint32_t>(bytes_.size()); }
  uint8_t byte(uint32_t i) const { return bytes_[i]; }
  uint32_t depth(uint32_t i) const { return depths_[i]; }
  uint32_t end(uint32_t i) const { return ends_[i]; }
  uint32_t first_token(uint32_t i) const { return first_tokens_[i]; }  // i <= size()
  TokenId token(uint32_t position) const { return tokens_[position]; }
  uint32_t max_depth() const { return max_depth_; }
  size_t memory_bytes() const;

 private:
  std::vector<uint8_t> bytes_;
  std::vector<uint16_t> depths_;
  std::vector<uint32_t> ends_;
  std::vector<uint32_t> first_tokens_;
  std::vector<TokenId> tokens_;
  uint32_t max_depth_ = 0;
};

// Sets, and below clears, the bits of the tokens at positions [first, last) of the trie.
inline void set_tokens(const Trie& trie, uint32_t first, uint32_t last, uint32_t* mask) {
  for (uint32_t t = first; t < last; ++t) set_token(mask, trie.token(t));
}
inline void clear_tokens(const Trie& trie, uint32_t first, uint32_t last, uint32_t* mask) {
  for (uint32_t t = first; t < last; ++t) clear_token(mask, trie.token(t));
}

struct TerminalTable;

// The tokens that begin with JSON whitespace: how long the run is, and what comes behind it. A place where whitespace may stand reads
// the run first, and what follows does not depend on how long it was.
struct WhitespaceRuns {
  // [n] = the tokens that are a run of n bytes and nothing else.
  std::vector<std::vector<TokenId>> pure;
  // [n] = the rests of the tokens that begin with a run of exactly n bytes (n >= 1; [0] is empty), and all of them together.
  std::vector<Trie> rests;
  Trie all_rests;
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
  // Tokens with three or more quotes: the only ones that can close two keys of one object.
  const std::vector<TokenId>& many_quotes() const { return many_quotes_; }
  // Tokens that may hold all of an item and something of the next: where items must be distinct, they are tried one by one.
  const std::vector<TokenId>& item_pairs() const { return item_pairs_; }
  size_t memory_bytes() const;

  // Terminal tables, shared by every grammar of this vocabulary. find returns null if absent. Thread-safe.
  std::shared_ptr<const TerminalTable> find_table(const Hash128& key) const;
  std::shared_ptr<const TerminalTable> add_table(const Hash128& key, std::shared_ptr<const TerminalTable> table) const;
  size_t table_memory_bytes() const;
  void clear_tables() const;

 private:
  std::vector<std::optional<std::string>> tokens_;
  std::vector<TokenId> stop_tokens_;
  uint32_t size_;
  Trie trie_;
  WhitespaceRuns whitespace_runs_;
  ByteSet alphabet_;
  std::vector<TokenId> many_quotes_;
  std::vector<TokenId> item_pairs_;

  mutable std::mutex tables_mutex_;
  mutable std::unordered_map<Hash128, std::shared_ptr<const TerminalTable>, Hash128Hasher> tables_;
  mutable size_t table_bytes_ = 0;
};

}  // namespace gd
