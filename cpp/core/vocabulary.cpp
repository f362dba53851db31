#include "vocabulary.h"

#include <algorithm>

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
  return text.find(',') != std::string_view::npos && (has_pair(text, false) || has_pair(text, true) || has_pair(text.substr(1), true));
}

}  // namespace
namespace {

constexpr size_t kMaxTokenBytes = 65535;
constexpr uint32_t kMaxSize = 0x7FFFFFFF;
constexpr size_t kMaxTableBytes = size_t{192} << 20;  // of the 256 MB that all caches of a vocabulary may hold

}  // namespace

Trie Trie::build(std::vector<std::pair<std::string_view, TokenId>> entries) {
  std::sort(entries.begin(), entries.end());
  Trie trie;
  trie.tokens_.reserve(entries.size());
  std::vector<uint32_t> open;  // the nodes of the current path
  std::string_view path;
  for (const auto& [text, token] : entries) {
    if (text.empty()) continue;
    size_t common = 0;
    while (common < path.size() && common < text.size() && path[common] == text[common]) ++common;
    while (open.size() > common) {
      trie.ends_[open.back()] = trie.size();
      open.pop_back();
    }
    for (size_t depth = common; depth < text.size(); ++depth) {
      open.push_back(trie.size());
      trie.bytes_.push_back(static_cast<uint8_t>(text[depth]));
      trie.depths_.push_back(static_cast<uint16_t>(depth));
      trie.ends_.push_back(0);
      trie.first_tokens_.push_back(static_cast<uint32_t>(trie.tokens_.size()));
    }
    trie.tokens_.push_back(token);
    trie.max_depth_ = std::max(trie.max_depth_, static_cast<uint32_t>(text.size()));
    path = text;
  }
  for (const uint32_t node : open) trie.ends_[node] = trie.size();
  trie.first_tokens_.push_back(static_cast<uint32_t>(trie.tokens_.size()));
  return trie;
}

size_t Trie::memory_bytes() const {
  return bytes_.capacity() + 2 * depths_.capacity() + 4 * (ends_.capacity() + first_tokens_.capacity() + tokens_.capacity());
}

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
    if (std::count(text.begin(), text.end(), '"') >= 3) many_quotes_.push_back(id);
    if (may_hold_two_items(text)) item_pairs_.push_back(id);
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
}

size_t Vocabulary::memory_bytes() const {
  size_t bytes = trie_.memory_bytes() + tokens_.capacity() * sizeof(tokens_[0]) + whitespace_runs_.all_rests.memory_bytes();
  for (const Trie& rest : whitespace_runs_.rests) bytes += rest.memory_bytes();
  for (const auto& token : tokens_) {
    if (token.has_value() && token->capacity() > 15) bytes += token->capacity() + 1;
  }
  return bytes;
}

std::shared_ptr<const TerminalTable> Vocabulary::find_table(const Hash128& key) const {
  const std::lock_guard lock(tables_mutex_);
  const auto found = tables_.find(key);
  return found == tables_.end() ? nullptr : found->second;
}

std::shared_ptr<const TerminalTable> Vocabulary::add_table(const Hash128& key, std::shared_ptr<const TerminalTable> table) const {
  const std::lock_guard lock(tables_mutex_);
  const size_t bytes = table->memory_bytes();
  if (table_bytes_ + bytes > kMaxTableBytes) {  // start over: tables in use live on with their users
    tables_.clear();
    table_bytes_ = 0;
  }
  const auto [entry, added] = tables_.emplace(key, std::move(table));
  if (added) table_bytes_ += bytes;
  return entry->second;
}

size_t Vocabulary::table_memory_bytes() const {
  const std::lock_guard lock(tables_mutex_);
  return table_bytes_;
}

void Vocabulary::clear_tables() const {
  const std::lock_guard lock(tables_mutex_);
  tables_.clear();
  table_bytes_ = 0;
}

}  // namespace gd
