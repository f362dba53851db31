// The bits of a packed token mask: token i is bit i % 32 of word i / 32.
#pragma once

#include <cstdint>

namespace gd {

inline void set_token(uint32_t* mask, uint32_t token) { mask[token / 32] |= uint32_t{1} << (token % 32); }
inline void clear_token(uint32_t* mask, uint32_t token) { mask[token / 32] &= ~(uint32_t{1} << (token % 32)); }
inline bool has_token(const uint32_t* mask, uint32_t token) { return ((mask[token / 32] >> (token % 32)) & 1) != 0; }

}  // namespace gd
