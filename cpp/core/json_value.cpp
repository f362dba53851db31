#include "json_value.h"

#include <algorithm>

namespace gd {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void append_utf8(std::string& out, uint32_t code) {
  const auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

// The number of bytes of a complete escape at the start of `text`, and its character; 0 if it is not complete, -1 if it is none.
int read_escape(std::string_view text, uint32_t& code) {
  if (text.size() < 2) return 0;
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  const size_t at = kLetters.find(text[1]);
  if (at != std::string_view::npos) {
    code = static_cast<uint8_t>(kMeanings[at]);
    return 2;
  }
  if (text[1] != 'u') return -1;
  code = 0;
  for (size_t i = 2; i < 6; ++i) {
    if (i >= text.size()) return 0;
    const int digit = hex_value(text[i]);
    if (digit < 0) return -1;
    code = code * 16 + static_cast<uint32_t>(digit);
  }
  return 6;
}

// The size of the UTF-8 sequence at the start of `text`: 0 if it is cut off at the end, -1 if it is none (RFC 3629).
int utf8_size(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  const int size = lead >= 0xC2 && lead < 0xE0 ? 2 : lead >= 0xE0 && lead < 0xF0 ? 3 : lead >= 0xF0 && lead < 0xF5 ? 4 : -1;
  if (size < 0) return -1;
  for (int i = 1; i < size; ++i) {
    const auto at = static_cast<size_t>(i);
    if (at >= text.size()) return 0;
    const uint8_t low = i > 1 ? 0x80 : lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const uint8_t high = i > 1 ? 0xBF : lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (byte(at) < low || byte(at) > high) return -1;
  }
  return size;
}

std::string_view without_zeros_in_front(std::string_view digits) {
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

std::string_view without_zeros_behind(std::string_view digits) { return digits.substr(0, digits.find_last_not_of('0') + 1); }

}  // namespace

// ---- reading scalars ------------------------------------------------------------------------------------------------

StringPrefix read_string(std::string_view text) {
  StringPrefix result;
  if (text.empty() || text[0] != '"') return result;
  for (size_t i = 1; i < text.size();) {
    const char c = text[i];
    if (c == '"') {
      result.closed = result.valid = i + 1 == text.size();
      return result;
    }
    if (static_cast<uint8_t>(c) < 0x20) return result;
    if (c != '\\') {
      const int size = utf8_size(text.substr(i));
      if (size < 0) return result;
      const size_t length = size > 0 ? static_cast<size_t>(size) : text.size() - i;  // cut off: the bytes are still a prefix
      result.text.append(text.substr(i, length));
      i += length;
      continue;
    }
    uint32_t code = 0;
    const int size = read_escape(text.substr(i), code);
    if (size < 0) return result;
    int second_size = 0;
    uint32_t second = 0;
    const bool is_high = size == 6 && code >= 0xD800 && code < 0xDC00;
    if (is_high) {  // a pair, if another escape of the second half follows
      const std::string_view rest = text.substr(i + 6);
      if (rest.empty() || rest[0] == '\\') {
        second_size = read_escape(rest, second);
        if (second_size < 0) return result;
        if (second_size > 0 && !(second_size == 6 && second >= 0xDC00 && second < 0xE000)) second_size = -1;
      } else {
        second_size = -1;
      }
    }
    if (size == 0 || (is_high && second_size == 0)) {
      result.pending = text.substr(i);
      break;
    }
    if (is_high && second_size > 0) {
      append_utf8(result.text, 0x10000 + ((code - 0xD800) << 10) + (second - 0xDC00));
      i += 12;
    } else {
      append_utf8(result.text, code);
      i += static_cast<size_t>(size);
    }
  }
  result.valid = true;
  return result;
}

NumberPrefix read_number(std::string_view text) {
  NumberPrefix result;
  size_t i = 0;
  const auto at_digit = [&] { return i < text.size() && is_digit(text[i]); };
  if (i < text.size() && text[i] == '-') {
    result.negative = true;
    ++i;
  }
  if (i == text.size()) {
    result.valid = result.negative;
    return result;
  }
  if (!at_digit()) return result;
  std::string digits;
  if (text[i] == '0') {
    ++i;
  } else {
    while (at_digit()) digits.push_back(text[i++]);
  }
  result.complete = true;
  if (i < text.size() && text[i] == '.') {
    ++i;
    result.complete = at_digit();
    while (at_digit()) {
      digits.push_back(text[i++]);
      ++result.scale;
    }
  }
  result.digits = without_zeros_in_front(digits);
  if (result.complete && i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    result.has_exponent = true;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) result.exponent_negative = text[i++] == '-';
    result.complete = at_digit();
    const size_t begin = i;
    while (at_digit()) ++i;
    result.exponent_digits = without_zeros_in_front(text.substr(begin, i - begin));
  }
  result.valid = i == text.size();
  result.complete = result.complete && result.valid;
  return result;
}

// ---- values ---------------------------------------------------------------------------------------------------------

ValuePool::ValuePool() { intern_list({}); }

ValueId ValuePool::intern(Value value) {
  Hash128 content;
  content.feed(static_cast<uint64_t>(value.kind));
  content.feed_bytes(value.text.data(), value.text.size());
  for (const ValueId part : value.parts) content.feed(part);
  const uint32_t next = static_cast<uint32_t>(values_.size());
  make_room(values_);
  const ValueId id = index_.find_or_add(content.low, next, [&](uint32_t other) { return values_[other] == value; });
  if (id == next) {
    memory_bytes_ += sizeof(Value) + value.text.capacity() + value.parts.capacity() * sizeof(ValueId);
    values_.push_back(std::move(value));
  }
  return id;
}

ListId ValuePool::intern_list(std::vector<ValueId> list) {
  uint64_t hash = combine(37, list.size());
  for (const ValueId value : list) hash = combine(hash, value);
  const uint32_t next = static_cast<uint32_t>(lists_.size());
  make_room(lists_);
  const ListId id = list_index_.find_or_add(hash, next, [&](uint32_t other) { return lists_[other] == list; });
  if (id == next) {
    memory_bytes_ += sizeof(list) + list.capacity() * sizeof(ValueId);
    lists_.push_back(std::move(list));
  }
  return id;
}

ValueId ValuePool::scalar(std::string_view text) {
  const StringPrefix string = read_string(text);
  if (string.valid && string.closed) return intern({Kind::kString, string.text, {}});
  const NumberPrefix number = read_number(text);
  // An exponent beyond 18 digits is nobody's: such a text stands for itself.
  if (!number.valid || !number.complete || number.exponent_digits.size() > 18) return intern({Kind::kText, std::string(text), {}});
  const std::string_view digits = without_zeros_behind(number.digits);
  if (digits.empty()) return intern({Kind::kNumber, "0", {}});
  int64_t exponent = number.exponent_digits.empty() ? 0 : std::stoll(number.exponent_digits);
  if (number.exponent_negative) exponent = -exponent;
  exponent += static_cast<int64_t>(number.digits.size() - digits.size()) - number.scale;
  std::string canonical = number.negative ? "-" : "";
  canonical.append(digits).append("e").append(std::to_string(exponent));
  return intern({Kind::kNumber, std::move(canonical), {}});
}

ValueId ValuePool::key(std::string_view text) { return intern({Kind::kText, std::string(text), {}}); }

ValueId ValuePool::array(ListId items) { return intern({Kind::kArray, {}, lists_[items]}); }

ValueId ValuePool::object(ListId members) { return intern({Kind::kObject, {}, lists_[members]}); }

bool ValuePool::may_become(ValueId id, const ScalarPrefix& read) const {
  const std::string_view text = read.text;
  const Value& value = values_[id];
  switch (value.kind) {
    case Kind::kArray:
    case Kind::kObject:
      return false;
    case Kind::kText:
      return std::string_view(value.text).substr(0, text.size()) == text;
    case Kind::kString: {
      if (text.empty()) return true;
      const StringPrefix& string = read.string;
      if (!string.valid) return false;
      if (string.closed) return string.text == value.text;
      return std::string_view(value.text).substr(0, string.text.size()) == string.text &&
             (string.pending.empty() || value.text.size() > string.text.size());
    }
    case Kind::kNumber: {
      if (text.empty()) return true;
      const NumberPrefix& number = read.number;
      if (!number.valid) return false;
      std::string_view wanted = value.text;
      const bool is_zero = wanted == "0";
      const bool negative = wanted[0] == '-';
      if (!is_zero && negative != number.negative) return false;
      if (negative) wanted.remove_prefix(1);
      wanted = is_zero ? std::string_view() : wanted.substr(0, wanted.find('e'));
      const std::string_view digits = without_zeros_behind(number.digits);
      if (number.has_exponent) return digits == wanted;
      // What has been read may be followed by more digits, and an exponent may put the point anywhere.
      if (number.digits.size() <= wanted.size()) return wanted.substr(0, number.digits.size()) == number.digits;
      return digits == wanted;
    }
  }
  return true;
}

ListId ValuePool::appended(ListId list, ValueId value) {
  std::vector<ValueId> result = lists_[list];
  result.push_back(value);
  return intern_list(std::move(result));
}

ListId ValuePool::with_member(ListId members, ValueId key, ValueId value) {
  std::vector<ValueId> result = lists_[members];
  size_t at = 0;
  while (at < result.size() && result[at] < key) at += 2;
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(at), {key, value});
  return intern_list(std::move(result));
}

ListId ValuePool::with_value(ListId sorted, ValueId value) {
  std::vector<ValueId> result = lists_[sorted];
  const auto at = std::lower_bound(result.begin(), result.end(), value);
  if (at != result.end() && *at == value) return sorted;
  result.insert(at, value);
  return intern_list(std::move(result));
}

bool ValuePool::contains(const std::vector<ValueId>& sorted, ValueId value) {
  return std::binary_search(sorted.begin(), sorted.end(), value);
}

ValueId ValuePool::member(const std::vector<ValueId>& members, ValueId key) {
  for (size_t i = 0; i + 1 < members.size(); i += 2) {
    if (members[i] == key) return members[i + 1];
  }
  return kAbsent;
}

}  // namespace gd
