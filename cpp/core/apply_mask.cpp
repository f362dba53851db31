#include "apply_mask.h"

#include <algorithm>
#include <bit>
#include <limits>

#if defined(__x86_64__) && defined(__GNUC__)
#define GD_X86_DISPATCH 1
#include <immintrin.h>
#else
#define GD_X86_DISPATCH 0
#endif

namespace gd {
namespace {

constexpr std::size_t kWordBits = 32;

template <typename Element>
void clear_columns(Element* logits, std::uint32_t forbidden, Element negative_infinity) {
  for (; forbidden != 0; forbidden &= forbidden - 1) logits[std::countr_zero(forbidden)] = negative_infinity;
}

constexpr std::int32_t kAllAllowed = -1;

template <typename Element>
void apply_words_by_bits(Element* logits, const std::int32_t* mask, std::size_t num_words, Element negative_infinity) {
  for (std::size_t word = 0; word < num_words; ++word, logits += kWordBits) {
    if (mask[word] == 0) {
      std::fill_n(logits, kWordBits, negative_infinity);
    } else {
      clear_columns(logits, ~static_cast<std::uint32_t>(mask[word]), negative_infinity);
    }
  }
}

#if GD_X86_DISPATCH
// Whole loops for each kind of processor, because a function for other processors can't be inlined. A word is spread over the lanes
// and they are blended, with a load and a store: masked stores are microcoded on AMD, and a branch that asks how many bits are set is
// mostly guessed wrong.

[[gnu::target("avx2")]] void apply_words_avx2(float* logits, const std::int32_t* mask, std::size_t num_words,
                                              float negative_infinity) {
  const __m256 fill = _mm256_set1_ps(negative_infinity);
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  for (std::size_t word = 0; word < num_words; ++word, logits += kWordBits) {
    if (mask[word] == kAllAllowed) continue;
    const __m256i allowed = _mm256_set1_epi32(mask[word]);
    for (int column = 0; column < static_cast<int>(kWordBits); column += 8) {
      // The bit of each lane becomes its sign, which is what a blend looks at.
      const __m256i keep = _mm256_sllv_epi32(allowed, _mm256_sub_epi32(_mm256_set1_epi32(31 - column), lane));
      _mm256_storeu_ps(logits + column, _mm256_blendv_ps(fill, _mm256_loadu_ps(logits + column), _mm256_castsi256_ps(keep)));
    }
  }
}
[[gnu::target("avx2")]] void apply_words_avx2(std::uint16_t* logits, const std::int32_t* mask, std::size_t num_words,
                                              std::uint16_t negative_infinity) {
  const __m256i fill = _mm256_set1_epi16(static_cast<short>(negative_infinity));
  const __m256i lane_bit =
      _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, std::numeric_limits<short>::min());
  for (std::size_t word = 0; word < num_words; ++word, logits += kWordBits) {
    if (mask[word] == kAllAllowed) continue;
    for (const int half : {0, 16}) {
      const __m256i allowed = _mm256_set1_epi16(static_cast<short>(mask[word] >> half));
      const __m256i keep = _mm256_cmpeq_epi16(_mm256_and_si256(allowed, lane_bit), lane_bit);
      __m256i* const lanes = reinterpret_cast<__m256i*>(logits + half);
      _mm256_storeu_si256(lanes, _mm256_blendv_epi8(fill, _mm256_loadu_si256(lanes), keep));
    }
  }
}

// With AVX-512 the word of the mask is the mask of the lanes.
[[gnu::target("avx512f,avx512bw")]] void apply_words_avx512(float* logits, const std::int32_t* mask, std::size_t num_words,
                                                            float negative_infinity) {
  const __m512 fill = _mm512_set1_ps(negative_infinity);
  for (std::size_t word = 0; word < num_words; ++word, logits += kWordBits) {
    if (mask[word] == kAllAllowed) continue;
    const auto allowed = static_cast<std::uint32_t>(mask[word]);
    _mm512_storeu_ps(logits, _mm512_mask_loadu_ps(fill, static_cast<__mmask16>(allowed), logits));
    _mm512_storeu_ps(logits + 16, _mm512_mask_loadu_ps(fill, static_cast<__mmask16>(allowed >> 16), logits + 16));
  }
}
[[gnu::target("avx512f,avx512bw")]] void apply_words_avx512(std::uint16_t* logits, const std::int32_t* mask, std::size_t num_words,
                                                            std::uint16_t negative_infinity) {
  const __m512i fill = _mm512_set1_epi16(static_cast<short>(negative_infinity));
  for (std::size_t word = 0; word < num_words; ++word, logits += kWordBits) {
    if (mask[word] == kAllAllowed) continue;
    const auto allowed = static_cast<std::uint32_t>(mask[word]);
    _mm512_storeu_si512(logits, _mm512_mask_loadu_epi16(fill, allowed, logits));
  }
}
#endif

template <typename Element>
void apply_words(Element* logits, const std::int32_t* mask, std::size_t num_words, Element negative_infinity, MaskLoops loops) {
#if GD_X86_DISPATCH
  static const MaskLoops fastest = has_loops(MaskLoops::kAvx512) ? MaskLoops::kAvx512
                                   : has_loops(MaskLoops::kAvx2) ? MaskLoops::kAvx2
                                                                 : MaskLoops::kByBits;
  if (loops == MaskLoops::kFastest) loops = fastest;
  if (loops == MaskLoops::kAvx512) return apply_words_avx512(logits, mask, num_words, negative_infinity);
  if (loops == MaskLoops::kAvx2) return apply_words_avx2(logits, mask, num_words, negative_infinity);
#endif
  apply_words_by_bits(logits, mask, num_words, negative_infinity);
}

// A contiguous row; `num_covered` columns are decided by the mask, the rest are forbidden.
template <typename Element>
void apply_contiguous(Element* logits, std::size_t num_columns, const std::int32_t* mask, std::size_t num_covered,
                      Element negative_infinity, MaskLoops loops) {
  const std::size_t num_words = num_covered / kWordBits;
  apply_words(logits, mask, num_words, negative_infinity, loops);
  if (const std::size_t rest = num_covered % kWordBits; rest != 0) {
    const std::uint32_t inside = (std::uint32_t{1} << rest) - 1;
    clear_columns(logits + num_words * kWordBits, ~static_cast<std::uint32_t>(mask[num_words]) & inside, negative_infinity);
  }
  std::fill(logits + num_covered, logits + num_columns, negative_infinity);
}

template <typename Element>
void apply_strided(Element* logits, std::size_t num_columns, std::ptrdiff_t stride, const std::int32_t* mask,
                   std::size_t num_covered, Element negative_infinity) {
  for (std::size_t column = 0; column < num_columns; ++column) {
    const bool allowed =
        column < num_covered && (static_cast<std::uint32_t>(mask[column / kWordBits]) >> (column % kWordBits) & 1u) != 0;
    if (!allowed) logits[static_cast<std::ptrdiff_t>(column) * stride] = negative_infinity;
  }
}

}  // namespace

bool has_loops(MaskLoops loops) {
#if GD_X86_DISPATCH
  if (loops == MaskLoops::kAvx512) return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0;
  if (loops == MaskLoops::kAvx2) return __builtin_cpu_supports("avx2") != 0;
#endif
  return loops == MaskLoops::kFastest || loops == MaskLoops::kByBits;
}

void apply_mask_f32(float* logits, std::size_t num_columns, std::ptrdiff_t stride, const std::int32_t* mask, std::size_t num_bits,
                    MaskLoops loops) {
  const std::size_t num_covered = std::min(num_bits, num_columns);
  constexpr float negative_infinity = -std::numeric_limits<float>::infinity();
  if (stride != 1) return apply_strided(logits, num_columns, stride, mask, num_covered, negative_infinity);
  apply_contiguous(logits, num_columns, mask, num_covered, negative_infinity, loops);
}

void apply_mask_16(std::uint16_t* logits, std::size_t num_columns, std::ptrdiff_t stride, const std::int32_t* mask,
                   std::size_t num_bits, std::uint16_t negative_infinity, MaskLoops loops) {
  const std::size_t num_covered = std::min(num_bits, num_columns);
  if (stride != 1) return apply_strided(logits, num_columns, stride, mask, num_covered, negative_infinity);
  apply_contiguous(logits, num_columns, mask, num_covered, negative_infinity, loops);
}

}  // namespace gd
