// The texts of keys, as they stand in a document, and their prefixes: equal texts have equal ids.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "byte_set.h"
#include "hashing.h"

namespace gd {

using TextId = uint32_t;

// Hash-consed letter by letter. Not thread-safe.
class TextPool {
 public:
  static constexpr TextId kEmptyText = 0;
  // Stands for a key that equals no other key: used while computing masks, where the text itself does not matter.
  static constexpr TextId kFresh = 1;
  // Stands for one key of a pattern that is about to be read, whatever its text (only to count what would be left).
  static constexpr TextId unread(uint32_t pattern) { return 0xFFFFFFFF - pattern; }

  TextPool();
  TextId append(TextId text, uint8_t byte);
  bool is_prefix(TextId prefix, TextId text) const;
  std::string suffix(TextId text, uint32_t from) const;  // the bytes of `text` from position `from` on
  bool is_within(TextId text, const ByteSet& alphabet) const;
  uint32_t length(TextId text) const { return texts_[text].length; }
  uint32_t size() const { return static_cast<uint32_t>(texts_.size()); }
  size_t memory_bytes() const { return texts_.size() * sizeof(Text) + index_.memory_bytes(); }

 private:
  struct Text {
    TextId parent;
    uint32_t length;
    uint8_t byte;
  };
  std::vector<Text> texts_;
  HashIndex index_;
};

}  // namespace gd
