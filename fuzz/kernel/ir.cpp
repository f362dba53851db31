// Bytes as a grammar: it is read or refused, and what was read never crashes, hangs or grows without bound. A grammar that nobody's
// compiler made may break the normal form that masks rely on (ARCHITECTURE.md, invariants 7 and 8), so here masks are computed and
// followed, and their meaning is left to `streams`.
#include <algorithm>
#include <cstring>

#include "common.h"

namespace {

void follow(gd::Matcher& matcher, fuzz::Noise& noise) {
  const uint32_t size = matcher.vocabulary().size();
  for (int step = 0; step < 5; ++step) {
    const std::vector<uint32_t> mask = fuzz::mask_of(matcher);
    std::vector<gd::TokenId> allowed;
    for (gd::TokenId t = 0; t < size; ++t) {
      if (fuzz::is_allowed(mask, t)) allowed.push_back(t);
    }
    matcher.allowed_bytes();
    matcher.expectations();
    if (allowed.empty()) return;
    matcher.accept_token(allowed[noise.below(static_cast<uint32_t>(allowed.size()))]);
    matcher.accept_token(noise.below(size));
  }
  matcher.rollback(matcher.num_steps() / 2);
  fuzz::mask_of(matcher);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::shared_ptr<const gd::Vocabulary> vocabularies[] = {fuzz::make_vocabulary(true), fuzz::make_vocabulary(false)};
  const std::string text(reinterpret_cast<const char*>(data), size);
  fuzz::Noise noise(text);
  try {
    const auto grammar = std::make_shared<gd::CompiledGrammar>(text, fuzz::limits(5000));
    if (grammar->is_empty(1)) return 0;
    const auto& vocabulary = vocabularies[noise.below(2)];
    if (noise.below(16) == 0) vocabulary->clear_tables();
    gd::Matcher matcher(grammar, vocabulary, {}, {});
    follow(matcher, noise);
  } catch (const gd::Error&) {
  }
  return 0;
}

// Words are words: changed, copied and moved as such, with the counts of the header kept true (plain bytes hardly ever keep them).
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  uint32_t header[3];
  if (size < 20 || seed % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(header, data + 4, sizeof header);
  if (size != 16 + size_t{4} * header[1] + header[2] || header[1] == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::vector<uint32_t> words(header[1]);
  std::memcpy(words.data(), data + 16, 4 * words.size());
  std::string blob(reinterpret_cast<const char*>(data) + 16 + 4 * words.size(), header[2]);
  fuzz::Noise noise(std::string_view(reinterpret_cast<const char*>(&seed), sizeof seed));
  for (uint32_t rounds = 1 + noise.below(4); rounds > 0; --rounds) {
    const uint32_t at = noise.below(static_cast<uint32_t>(words.size()));
    switch (noise.below(9)) {
      case 0:
        words[at] = noise.below(12);
        break;
      case 1:
        words[at] += noise.below(5) - 2;
        break;
      case 2:
        words[at] = words[noise.below(static_cast<uint32_t>(words.size()))];
        break;
      case 3:
        words[at] = gd::kNone;
        break;
      case 4:
        words[at] ^= uint32_t{1} << noise.below(32);
        break;
      case 5:
        if (size + 4 <= max_size) words.insert(words.begin() + at, noise.below(8)), size += 4;
        break;
      case 6:
        if (words.size() > 1) words.erase(words.begin() + at), size -= 4;
        break;
      case 7: {  // a stretch is copied over another place
        const uint32_t from = noise.below(static_cast<uint32_t>(words.size()));
        const size_t length = std::min<size_t>(1 + noise.below(16), words.size() - std::max(at, from));
        std::copy_n(std::vector<uint32_t>(words).begin() + from, length, words.begin() + at);
        break;
      }
      default:
        if (!blob.empty()) blob[noise.below(static_cast<uint32_t>(blob.size()))] = static_cast<char>(noise.below(256));
        break;
    }
  }
  header[1] = static_cast<uint32_t>(words.size());
  std::memcpy(data + 4, header, sizeof header);
  std::memcpy(data + 16, words.data(), 4 * words.size());
  std::memcpy(data + 16 + 4 * words.size(), blob.data(), blob.size());
  return size;
}
