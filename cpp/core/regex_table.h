// Regular expressions under construction, hash-consed, in the byte format of the IR: what src/grammar_decode/ir/build.py does, for
// the little that everyday schemas need (cpp/bindings/everyday.h). The normal forms are those of build.py.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "grammar.h"

namespace gd {

// Expressions as words and the part of the blob that they own: an encoded list (`Beginning` in ir/encode.py). Ids are places in it.
struct EncodedRegexes {
  uint32_t count = 0;
  std::vector<uint32_t> words;
  std::string blob;
};

class RegexTable {
 public:
  RegexTable() = default;
  // The expressions that every grammar begins with. Throws SerializationError.
  explicit RegexTable(const EncodedRegexes& beginning);
  // Empty, with the ids of `base` before its own. `base` has no base, and outlives it.
  explicit RegexTable(const RegexTable* base) : base_(base) {}

  RegexId byte_class(const ByteSet& bytes);
  RegexId literals(std::vector<std::string_view> texts);  // at least one
  RegexId concat(std::span<const RegexId> parts);
  RegexId alternate(std::span<const RegexId> parts);
  // A copy of expressions that were encoded by themselves, children first; the id of the last one.
  RegexId put(const EncodedRegexes& program);

  uint32_t size() const { return num_base() + static_cast<uint32_t>(entries_.size()); }
  // Its own, without those of the base.
  const std::vector<uint32_t>& words() const { return words_; }
  // The same, where its first expression has another id than size() of the base.
  std::vector<uint32_t> words_from(RegexId first) const;
  const std::string& blob() const { return blob_; }

 private:
  struct Entry {
    uint32_t begin, end;  // in words_
    uint32_t blob_begin, blob_end;
  };

  uint32_t num_base() const { return base_ == nullptr ? 0 : base_->size(); }
  std::span<const uint32_t> words_of(RegexId id) const;
  std::span<const RegexId> parts_of(RegexId id) const { return words_of(id).subspan(2); }  // of the n-ary kinds
  RegexId intern(std::span<const uint32_t> words, std::string_view blob);
  RegexId intern_parts(Regex::Kind kind, std::span<const RegexId> parts);
  const RegexId* find(const std::string& key) const;

  const RegexTable* base_ = nullptr;
  std::vector<uint32_t> words_;
  std::string blob_;
  std::vector<Entry> entries_;
  std::unordered_map<std::string, RegexId> index_;  // by words and blob
  std::vector<uint32_t> scratch_;
};

}  // namespace gd
