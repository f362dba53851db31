// Applying one row of a packed token bitmask to one row of logits: column i becomes -inf where bit i is 0.
//
// Bit i lives in word i / 32 at position i % 32; 1 = allowed. Columns at and past `num_bits` are forbidden, whatever
// the mask holds there. Cost: one pass over the row, memory-bound; words that are all ones are not touched.
// Threads: no state; rows may be done in parallel.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gd {

// The bit patterns of -inf.
inline constexpr std::uint16_t kNegativeInfinityF16 = 0xFC00u;
inline constexpr std::uint16_t kNegativeInfinityBF16 = 0xFF80u;

// The loops that there are. Only those of the processor at hand may be asked for; kFastest is one of them.
enum class MaskLoops : uint8_t { kFastest, kByBits, kAvx2, kAvx512 };
bool has_loops(MaskLoops loops);

// `stride` counts elements, not bytes, and may be anything (a field of an array of records, a reversed view).
// `mask` has at least ceil(min(num_bits, num_columns) / 32) words.
void apply_mask_f32(float* logits, std::size_t num_columns, std::ptrdiff_t stride, const std::int32_t* mask, std::size_t num_bits,
                    MaskLoops loops = MaskLoops::kFastest);

// float16 and bfloat16, as their bit patterns; `negative_infinity` tells which.
void apply_mask_16(std::uint16_t* logits, std::size_t num_columns, std::ptrdiff_t stride, const std::int32_t* mask,
                   std::size_t num_bits, std::uint16_t negative_infinity, MaskLoops loops = MaskLoops::kFastest);

}  // namespace gd
