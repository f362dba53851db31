#include "regex_table.h"

#include <algorithm>

#include "errors.h"

namespace gd {
namespace {

constexpr uint32_t kMaskWords = 8;

// Walks an encoded list: after next(), the words and the blob of one expression.
class Cursor {
 public:
  explicit Cursor(const EncodedRegexes& list) : list_(list) {}

  void next() {
    begin_ = at_;
    blob_begin_ = blob_at_;
    const uint32_t kind = word();
    switch (kind) {
      case Regex::kByteClass:
        skip(kMaskWords);
        break;
      case Regex::kConcatenation:
      case Regex::kAlternation:
      case Regex::kIntersection:
        skip(word());
        break;
      case Regex::kRepetition:
        skip(3);
        break;
      case Regex::kComplement:
        skip(1);
        break;
      case Regex::kLiteralSet:
        for (uint32_t n = word(); n > 0; --n) blob_at_ += word();
        if (blob_at_ > list_.blob.size()) fail();
        break;
      case Regex::kAutomaton:
        for (uint32_t n = word(); n > 0; --n) {
          skip(1);
          for (uint32_t transitions = word(); transitions > 0; --transitions) skip(kMaskWords + 1);
        }
        break;
      default:
        fail();
    }
  }
  std::span<const uint32_t> words() const { return std::span(list_.words).subspan(begin_, at_ - begin_); }
  std::string_view blob() const { return std::string_view(list_.blob).substr(blob_begin_, blob_at_ - blob_begin_); }

 private:
  [[noreturn]] static void fail() { throw SerializationError("a list of regular expressions is damaged"); }
  uint32_t word() {
    skip(1);
    return list_.words[at_ - 1];
  }
  void skip(size_t n) {
    if (n > list_.words.size() - at_) fail();
    at_ += n;
  }

  const EncodedRegexes& list_;
  size_t begin_ = 0, at_ = 0, blob_begin_ = 0, blob_at_ = 0;
};

std::string key_of(std::span<const uint32_t> words, std::string_view blob) {
  std::string key(reinterpret_cast<const char*>(words.data()), words.size_bytes());
  key.append(blob);
  return key;
}

ByteSet mask_of(std::span<const uint32_t> words) {
  ByteSet set;
  for (uint32_t i = 0; i < kMaskWords; ++i) set.words[i / 2] |= uint64_t{words[1 + i]} << (32 * (i % 2));
  return set;
}

}  // namespace

RegexTable::RegexTable(const EncodedRegexes& beginning) {
  Cursor cursor(beginning);
  for (uint32_t i = 0; i < beginning.count; ++i) {
    cursor.next();
    if (intern(cursor.words(), cursor.blob()) != i) throw SerializationError("a regular expression is listed twice");
  }
}

std::span<const uint32_t> RegexTable::words_of(RegexId id) const {
  if (id < num_base()) return base_->words_of(id);
  const Entry& entry = entries_[id - num_base()];
  return std::span(words_).subspan(entry.begin, entry.end - entry.begin);
}

const RegexId* RegexTable::find(const std::string& key) const {
  if (base_ != nullptr) {
    if (const RegexId* known = base_->find(key); known != nullptr) return known;
  }
  const auto found = index_.find(key);
  return found == index_.end() ? nullptr : &found->second;
}

RegexId RegexTable::intern(std::span<const uint32_t> words, std::string_view blob) {
  std::string key = key_of(words, blob);
  if (const RegexId* known = find(key); known != nullptr) return *known;
  const RegexId id = size();
  Entry entry{static_cast<uint32_t>(words_.size()), 0, static_cast<uint32_t>(blob_.size()), 0};
  words_.insert(words_.end(), words.begin(), words.end());
  blob_.append(blob);
  entry.end = static_cast<uint32_t>(words_.size());
  entry.blob_end = static_cast<uint32_t>(blob_.size());
  entries_.push_back(entry);
  index_.emplace(std::move(key), id);
  return id;
}

RegexId RegexTable::intern_parts(Regex::Kind kind, std::span<const RegexId> parts) {
  scratch_.assign({static_cast<uint32_t>(kind), static_cast<uint32_t>(parts.size())});
  scratch_.insert(scratch_.end(), parts.begin(), parts.end());
  return intern(std::vector<uint32_t>(scratch_), {});
}

RegexId RegexTable::byte_class(const ByteSet& bytes) {
  std::vector<uint32_t> words{Regex::kByteClass};
  for (uint32_t i = 0; i < kMaskWords; ++i) words.push_back(static_cast<uint32_t>(bytes.words[i / 2] >> (32 * (i % 2))));
  return intern(words, {});
}

RegexId RegexTable::literals(std::vector<std::string_view> texts) {
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  if (texts.size() == 1 && texts[0].empty()) return intern_parts(Regex::kConcatenation, {});
  if (std::all_of(texts.begin(), texts.end(), [](std::string_view t) { return t.size() == 1; })) {
    ByteSet bytes;
    for (const std::string_view t : texts) bytes.insert(static_cast<uint8_t>(t[0]));
    return byte_class(bytes);
  }
  std::vector<uint32_t> words{Regex::kLiteralSet, static_cast<uint32_t>(texts.size())};
  std::string blob;
  for (const std::string_view t : texts) {
    words.push_back(static_cast<uint32_t>(t.size()));
    blob.append(t);
  }
  return intern(words, blob);
}

RegexId RegexTable::concat(std::span<const RegexId> parts) {
  std::vector<RegexId> flat;
  for (const RegexId part : parts) {
    const std::span<const uint32_t> words = words_of(part);
    if (words[0] == Regex::kByteClass && mask_of(words).empty()) return part;  // the empty language
    if (words[0] == Regex::kConcatenation) {
      const std::span<const RegexId> inner = parts_of(part);
      flat.insert(flat.end(), inner.begin(), inner.end());
    } else {
      flat.push_back(part);
    }
  }
  return flat.size() == 1 ? flat[0] : intern_parts(Regex::kConcatenation, flat);
}

RegexId RegexTable::alternate(std::span<const RegexId> parts) {
  std::vector<RegexId> flat;
  std::vector<RegexId> stack(parts.begin(), parts.end());
  ByteSet bytes;
  while (!stack.empty()) {
    const RegexId part = stack.back();
    stack.pop_back();
    const std::span<const uint32_t> words = words_of(part);
    if (words[0] == Regex::kAlternation) {
      const std::span<const RegexId> inner = parts_of(part);
      stack.insert(stack.end(), inner.begin(), inner.end());
    } else if (words[0] == Regex::kByteClass) {
      bytes.merge(mask_of(words));
    } else {
      flat.push_back(part);
    }
  }
  if (!bytes.empty() || flat.empty()) flat.push_back(byte_class(bytes));
  std::sort(flat.begin(), flat.end());
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  return flat.size() == 1 ? flat[0] : intern_parts(Regex::kAlternation, flat);
}

RegexId RegexTable::put(const EncodedRegexes& program) {
  std::vector<RegexId> ids;
  ids.reserve(program.count);
  const auto placed = [&](uint32_t id) {
    if (id >= ids.size()) throw SerializationError("a regular expression refers to a later one");
    return ids[id];
  };
  Cursor cursor(program);
  for (uint32_t i = 0; i < program.count; ++i) {
    cursor.next();
    std::vector<uint32_t> words(cursor.words().begin(), cursor.words().end());
    switch (words[0]) {
      case Regex::kConcatenation:
      case Regex::kAlternation:
      case Regex::kIntersection:
        for (size_t k = 2; k < words.size(); ++k) words[k] = placed(words[k]);
        if (words[0] != Regex::kConcatenation) std::sort(words.begin() + 2, words.end());
        break;
      case Regex::kRepetition:
      case Regex::kComplement:
        words[1] = placed(words[1]);
        break;
      default:
        break;
    }
    ids.push_back(intern(words, cursor.blob()));
  }
  if (ids.empty()) throw SerializationError("a list of regular expressions is empty");
  return ids.back();
}

std::vector<uint32_t> RegexTable::words_from(RegexId first) const {
  std::vector<uint32_t> moved = words_;
  const uint32_t num_base = this->num_base();
  const auto move = [&](size_t at) { moved[at] += moved[at] < num_base ? 0 : first - num_base; };
  for (const Entry& entry : entries_) {
    switch (words_[entry.begin]) {
      case Regex::kConcatenation:
      case Regex::kAlternation:
      case Regex::kIntersection:
        for (size_t at = entry.begin + 2; at < entry.end; ++at) move(at);
        break;
      case Regex::kRepetition:
      case Regex::kComplement:
        move(entry.begin + 1);
        break;
      default:
        break;
    }
  }
  return moved;
}

}  // namespace gd
