// What the fuzz targets of the kernel share: reading an input as numbers, small vocabularies, and what must hold of every matcher.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/compiled_grammar.h"
#include "core/errors.h"
#include "core/matcher.h"

namespace fuzz {

// A broken promise is a crash, so that the fuzzer keeps the input.
[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "broken promise: %s\n", what.c_str());
  std::abort();
}
inline void check(bool holds, const char* what) {
  if (!holds) fail(what);
}

// An input, read from the front; 0 behind its end.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return at_ >= size_; }
  uint8_t byte() { return empty() ? uint8_t{0} : data_[at_++]; }
  uint32_t below(uint32_t limit) { return (uint32_t{byte()} << 8 | byte()) % limit; }
  std::string text(size_t length) {
    std::string result;
    while (result.size() < length && !empty()) result.push_back(static_cast<char>(byte()));
    return result;
  }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
};

// A stream of numbers from a text, for targets whose input is one thing as a whole.
class Noise {
 public:
  explicit Noise(std::string_view seed) {
    for (const char c : seed) state_ = gd::combine(state_, static_cast<uint8_t>(c));
  }
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>((state_ = gd::mix(state_ + 0x9e3779b97f4a7c15ULL)) % limit); }

 private:
  uint64_t state_ = 1;
};

// Tokens across JSON boundaries, split characters, runs of blanks, duplicates; with and without all single bytes.
inline std::shared_ptr<const gd::Vocabulary> make_vocabulary(bool all_bytes) {
  std::vector<std::optional<std::string>> tokens{std::nullopt, "</s>"};
  for (uint32_t b = 0; b < 256; ++b) {
    if (!all_bytes && (b < 9 || b == 'q' || b == 'z' || b == '7' || b >= 0xF1)) continue;
    tokens.emplace_back(std::string(1, static_cast<char>(b)));
  }
  for (const char* text : {"\",\"", "\":\"",    "},{",         "\"a\"",    "\":",   "{\"",
                           "[]",    "{}",       "[[",          "]]",       "}}",    "\"a\":1,\"a\"",
                           "1,1",   "1]",       "true",        "null",     "nul",   "l]",
                           "10",    "00",       "e-1",         ".5",       "\\u00", "\\\"",
                           "\\n",   "\xc3\xa9", "\xe6\x97",    "\xa5\"",   "  ",    "                ",
                           "\n  ",  ", ",       "\": ",        "aaaaaaaa", "ab",    "abab",
                           "kind",  "name",     "\"x\",\"x\":"}) {
    tokens.emplace_back(text);
  }
  tokens.emplace_back(std::nullopt);
  const auto size = static_cast<uint32_t>(tokens.size() + 5);
  return std::make_shared<const gd::Vocabulary>(std::move(tokens), std::vector<gd::TokenId>{1}, size);
}

inline std::vector<uint32_t> mask_of(const gd::Matcher& matcher) {
  std::vector<uint32_t> mask(matcher.vocabulary().num_words());
  matcher.fill(mask.data());
  return mask;
}

inline gd::Limits limits(uint32_t max_states) {
  gd::Limits result;
  result.max_states = max_states;
  result.max_search = 5000;
  result.max_compile_seconds = 0.5;
  result.max_mask_seconds = 0.1;
  return result;
}

inline bool is_allowed(const std::vector<uint32_t>& mask, gd::TokenId token) { return (mask[token / 32] >> (token % 32)) & 1; }

}  // namespace fuzz
