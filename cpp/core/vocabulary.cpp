#include "vocabulary.h"

#include <algorithm>
#include <bit>

#include "errors.h"
#include "terminal_table.h"

namespace gd {
namespace {

// Whether a comma between items, with something behind it, may stand in `text` behind a scalar that begins in it, or behind a bracket
// that opens an array. `in_string`: the text begins inside a string.
bool has_pair(std::string_view text, bool in_string) {
  bool is_first = in_string;  // the string that was open before
  bool has_item = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
        has_item = has_item || !is_first;
        is_first = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == ',') {
      if (has_item && text.find_first_not_of(" \t\n\r", i + 1) != std::string_view::npos) return true;
    } else if (c != ' ' && c != '\t' && c != '\n' && c != '\r' && c != ':' && c != '}' && c != ']') {
      has_item = true;
    }
  }
  return false;
}

// From every place that it may follow, also in the middle of an escape.
bool may_hold_two_items(std::string_view text) {
  return text.find(',') != std::string_view::npos &&
         (has_pair(text, false) || has_pair(text, true) || has_pair(text.substr(1), true));
}

// The commas and opening brackets of what may stand outside of strings; 0 for what may not.
uint32_t num_begun(std::string_view text) {
  uint32_t count = 0;
  char before = ' ';
  for (const char c : text) {
    const bool begins = c == ',' || c == '[' || c == '{';
    if ((begins && before == '{') || (c == ',' && (before == ',' || before == '['))) return 0;
    count += begins ? 1 : 0;
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r') before = c;
  }
  return count;
}

constexpr size_t kMaxTokenBytes = 65535;
constexpr uint32_t kMaxSize = 0x7FFFFFFF;

// Whether `text` may hold a key whole, behind a comma, and the end of the same key before.
bool may_close_a_key_twice(std::string_view text) {
  const auto quote_from = [&](size_t from) { return text.find('"', from); };
  for (size_t open = quote_from(0); open != text.npos; open = quote_from(open + 1)) {
    const size_t before = open == 0 ? text.npos : text.find_last_not_of(" \t\n\r", open - 1);
    if (before == text.npos || text[before] != ',') continue;
    for (size_t close = quote_from(open + 1); close != text.npos; close = quote_from(close + 1)) {
      const std::string_view key = text.substr(open + 1, close - open - 1);
      for (size_t end = quote_from(0); end < before; end = quote_from(end + 1)) {
        // The earlier one ends at `end`: it has begun before the token, or behind another quote.
        if (key.ends_with(text.substr(0, end))) return true;
        if (end > key.size() && text.substr(end - key.size(), key.size()) == key) return true;
      }
    }
  }
  return false;
}

}  // namespace

Vocabulary::Vocabulary(std::vector<std::optional<std::string>> tokens, std::vector<TokenId> stop_tokens, uint32_t size)
    : tokens_(std::move(tokens)), stop_tokens_(std::move(stop_tokens)), size_(size) {
  std::sort(stop_tokens_.begin(), stop_tokens_.end());
  stop_tokens_.erase(std::unique(stop_tokens_.begin(), stop_tokens_.end()), stop_tokens_.end());
  if (size_ > kMaxSize) {
    throw VocabularyError("size is " + std::to_string(size_) + "; the most is " + std::to_string(kMaxSize));
  }
  if (tokens_.size() > size_) {
    throw VocabularyError("size is " + std::to_string(size_) + ", but there are " + std::to_string(tokens_.size()) + " tokens");
  }
  for (const TokenId stop : stop_tokens_) {
    if (stop >= size_) {
      throw VocabularyError("stop token " + std::to_string(stop) + " is out of range: the size is " + std::to_string(size_));
    }
    if (stop < tokens_.size()) tokens_[stop].reset();
  }
  std::vector<std::pair<std::string_view, TokenId>> entries;
  entries.reserve(tokens_.size());
  for (TokenId id = 0; id < tokens_.size(); ++id) {
    if (!is_text(id)) continue;
    const std::string& text = *tokens_[id];
    if (text.size() > kMaxTokenBytes) {
      throw VocabularyError("token " + std::to_string(id) + " has " + std::to_string(text.size()) + " bytes; the most is " +
                            std::to_string(kMaxTokenBytes));
    }
    entries.emplace_back(text, id);
    if (text.size() == 1) alphabet_.insert(static_cast<uint8_t>(text[0]));
    if (may_close_a_key_twice(text)) twice_a_key_.push_back(id);
    if (may_hold_two_items(text)) {
      item_pairs_.push_back(id);
      if (text.find('[') != text.npos) opened_item_pairs_.push_back(id);
    }
    most_begun_ = std::max(most_begun_, num_begun(text));
  }
  if (entries.empty()) throw VocabularyError("the vocabulary has no token with text");
  std::vector<std::vector<std::pair<std::string_view, TokenId>>> rests;
  std::vector<std::pair<std::string_view, TokenId>> all_rests;
  for (const auto& [text, token] : entries) {
    const size_t run = std::min(text.find_first_not_of(" \t\n\r"), text.size());
    if (run == 0) continue;
    if (run == text.size()) {
      if (whitespace_runs_.pure.size() <= run) whitespace_runs_.pure.resize(run + 1);
      whitespace_runs_.pure[run].push_back(token);
      continue;
    }
    if (rests.size() <= run) rests.resize(run + 1);
    rests[run].emplace_back(text.substr(run), token);
    all_rests.emplace_back(text.substr(run), token);
  }
  for (auto& list : rests) whitespace_runs_.rests.push_back(Trie::build(std::move(list)));
  whitespace_runs_.all_rests = Trie::build(std::move(all_rests));
  trie_ = Trie::build(std::move(entries));
  trie_.find_groups();
  whitespace_runs_.all_rests.find_groups();
  for (Trie& rest : whitespace_runs_.rests) rest.find_groups();
  sort_by_groups();
}

void Vocabulary::sort_by_groups() {
  texts_.assign(num_words(), 0);
  lengths_.assign(tokens_.size(), 0);
  std::vector<std::vector<TokenId>> with_group(kNumGroups);
  std::vector<std::pair<std::string_view, TokenId>> unusual;
  std::vector<GroupSet> groups(trie_.max_depth() + 1, 0);  // of the path to each depth
  std::vector<uint32_t> lengths(trie_.max_depth() + 1, 0);
  for (uint32_t i = 0; i < trie_.size(); ++i) {
    const uint32_t depth = trie_.depth(i);
    const uint8_t byte = trie_.byte(i);
    groups[depth + 1] = groups[depth] | trie_.own_group(i);
    lengths[depth + 1] = lengths[depth] + ((byte & 0xC0) == 0x80 ? 0 : 1);
    for (uint32_t t = trie_.first_token(i); t < trie_.first_token(i + 1); ++t) {
      const TokenId token = trie_.token(t);
      const GroupSet held = groups[depth + 1];
      for (GroupSet left = held; left != 0; left &= left - 1) {
        with_group[static_cast<uint32_t>(std::countr_zero(left))].push_back(token);
      }
      set_token(texts_.data(), token);
      lengths_[token] = lengths[depth + 1];
      if ((held & (kSpecialGroup | kWideSpaceGroup)) != 0) unusual.emplace_back(text(token), token);
      if ((held & kSpecialGroup) == 0) {
        const uint32_t length = lengths[depth + 1];
        lengths_[token] |= kIsPlain;
        if (plain_by_length_.size() <= length) plain_by_length_.resize(length + 1);
        plain_by_length_[length].push_back(token);
      }
    }
  }
  unusual_ = Trie::build(std::move(unusual));
  unusual_.find_groups();
  for (std::vector<TokenId>& list : with_group) with_group_.push_back(TokenSet::from_ids(std::move(list), num_words()));
}

std::shared_ptr<const Cover> Vocabulary::cover(GroupSet groups) const {
  const std::lock_guard lock(tables_mutex_);
  if (const auto* known = covers_.find(groups); known != nullptr) return *known;
  std::vector<uint32_t> held(num_words(), 0);
  for (uint32_t g = 0; g < kNumGroups; ++g) {
    if (((groups >> g) & 1) == 0) with_group_[g].add_to(held.data());
  }
  for (size_t w = 0; w < held.size(); ++w) held[w] = texts_[w] & ~held[w];
  auto cover = std::make_shared<Cover>();
  cover->groups = groups;
  cover->tokens = TokenSet::from_words(std::move(held));
  remember(covers_, groups, cover, cover->tokens.memory_bytes());
  return cover;
}

std::shared_ptr<const TokenSet> Vocabulary::plain_up_to(uint32_t length) const {
  if (size_t{length} + 1 >= plain_by_length_.size()) return nullptr;
  return up_to(plain_up_to_, plain_by_length_, length);
}

std::shared_ptr<const TokenSet> Vocabulary::whitespace_up_to(uint32_t run) const {
  const std::vector<std::vector<TokenId>>& pure = whitespace_runs_.pure;
  return up_to(whitespace_up_to_, pure, std::min(run, static_cast<uint32_t>(pure.size())));
}

// The tokens of [0] to [length] as a mask.
std::shared_ptr<const TokenSet> Vocabulary::up_to(RecentCache<uint32_t, std::shared_ptr<const TokenSet>>& cache,
                                                  const std::vector<std::vector<TokenId>>& by_length, uint32_t length) const {
  const std::lock_guard lock(tables_mutex_);
  if (const auto* known = cache.find(length); known != nullptr) return *known;
  std::vector<uint32_t> words(num_words(), 0);
  for (size_t n = 0; n < by_length.size() && n <= length; ++n) {
    for (const TokenId token : by_length[n]) set_token(words.data(), token);
  }
  auto tokens = std::make_shared<const TokenSet>(TokenSet::from_words(std::move(words)));
  remember(cache, length, tokens, tokens->memory_bytes());
  return tokens;
}

std::shared_ptr<const Trie> Vocabulary::residual(std::vector<Trie::Place> places, const uint32_t* without) const {
  if (without != nullptr) return std::make_shared<const Trie>(Trie::merge(std::move(places), without));
  Hash128 key;
  for (const Trie::Place& place : places) {
    key.feed(reinterpret_cast<uintptr_t>(place.trie));
    key.feed(place.node);
  }
  const std::lock_guard lock(tables_mutex_);
  if (const auto* known = residuals_.find(key); known != nullptr) return *known;
  auto trie = std::make_shared<const Trie>(Trie::merge(std::move(places), nullptr));
  remember(residuals_, key, trie, trie->memory_bytes());
  return trie;
}

size_t Vocabulary::memory_bytes() const {
  size_t bytes = trie_.memory_bytes() + unusual_.memory_bytes() + tokens_.capacity() * sizeof(tokens_[0]) +
                 whitespace_runs_.all_rests.memory_bytes();
  for (const Trie& rest : whitespace_runs_.rests) bytes += rest.memory_bytes();
  bytes += 4 * (texts_.capacity() + lengths_.capacity());
  for (const TokenSet& set : with_group_) bytes += set.memory_bytes();
  for (const std::vector<TokenId>& list : plain_by_length_) bytes += 4 * list.capacity() + sizeof(list);
  for (const auto& token : tokens_) {
    if (token.has_value() && token->capacity() > 15) bytes += token->capacity() + 1;
  }
  return bytes;
}

std::shared_ptr<const TerminalTable> Vocabulary::find_table(const Hash128& key) const {
  const std::lock_guard lock(tables_mutex_);
  const auto* known = tables_.find(key);
  return known == nullptr ? nullptr : *known;
}

std::shared_ptr<const TerminalTable> Vocabulary::add_table(const Hash128& key, std::shared_ptr<const TerminalTable> table) const {
  const std::lock_guard lock(tables_mutex_);
  if (const auto* known = tables_.find(key); known != nullptr) return *known;
  const size_t held = table->cover == nullptr ? 0 : table->cover->tokens.memory_bytes();
  remember(tables_, key, table, table->memory_bytes(), held);
  return table;
}

template <class Cache, class Key, class Value>
void Vocabulary::remember(Cache& cache, const Key& key, const Value& value, size_t bytes, size_t held_bytes) const {
  const size_t cost = Cache::cost(bytes);
  if (budget_.make_room(cost, [&] { age(); })) cache.add(key, value, cost, held_bytes);
}

std::shared_ptr<const ScalarDistances> Vocabulary::find_distances(const Hash128& key) const {
  const std::lock_guard lock(tables_mutex_);
  const auto* known = distances_.find(key);
  return known == nullptr ? nullptr : *known;
}

void Vocabulary::add_distances(const Hash128& key, const std::shared_ptr<const ScalarDistances>& distances) const {
  const std::lock_guard lock(tables_mutex_);
  if (distances_.find(key) == nullptr) remember(distances_, key, distances, distances->memory_bytes());
}

void Vocabulary::age() const {
  distances_.age();
  tables_.age();
  covers_.age();
  plain_up_to_.age();
  whitespace_up_to_.age();
  residuals_.age();
}

void Vocabulary::set_table_limit(size_t bytes) const {
  const std::lock_guard lock(tables_mutex_);
  age();
  age();
  budget_ = {bytes};
}

size_t Vocabulary::table_memory_bytes() const {
  const std::lock_guard lock(tables_mutex_);
  return budget_.bytes();
}

void Vocabulary::clear_tables() const {
  const std::lock_guard lock(tables_mutex_);
  age();
  age();
  budget_ = {budget_.limit};
}

}  // namespace gd
