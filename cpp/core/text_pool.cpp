#include "text_pool.h"

#include <algorithm>

namespace gd {

TextPool::TextPool() : texts_{{kEmptyText, 0, 0}, {kFresh, 0, 0}} {}

TextId TextPool::append(TextId text, uint8_t byte) {
  if (text == kFresh) return kFresh;
  const uint32_t next = static_cast<uint32_t>(texts_.size());
  make_room(texts_);
  const TextId id = index_.find_or_add(combine(combine(11, text), byte), next,
                                       [&](uint32_t other) { return texts_[other].parent == text && texts_[other].byte == byte; });
  if (id == next) texts_.push_back({text, texts_[text].length + 1, byte});
  return id;
}

bool TextPool::is_prefix(TextId prefix, TextId text) const {
  if (prefix == kFresh || text == kFresh) return false;
  while (texts_[text].length > texts_[prefix].length) text = texts_[text].parent;
  return text == prefix;
}

bool TextPool::is_within(TextId text, const ByteSet& alphabet) const {
  for (; texts_[text].length > 0; text = texts_[text].parent) {
    if (!alphabet.contains(texts_[text].byte)) return false;
  }
  return true;
}

std::string TextPool::suffix(TextId text, uint32_t from) const {
  std::string result;
  for (; texts_[text].length > from; text = texts_[text].parent) result.push_back(static_cast<char>(texts_[text].byte));
  std::reverse(result.begin(), result.end());
  return result;
}

}  // namespace gd
