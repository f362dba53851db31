// Groups of characters: one word tells which kinds of characters a text holds, so that "all of these tokens are made of characters that
// the terminal loops on" is one comparison.
//
// Each printable ASCII character is a group, but digits and capital letters are taken together; so are all other characters of
// well-formed UTF-8, apart from those that `\s` of patterns matches (ECMA-262, 22.2.2.9) and `.` and `\S` do not.
// Quotes, backslashes, control characters and malformed UTF-8 are *special*.
#pragma once

#include <array>
#include <cstdint>

namespace gd {

using GroupSet = uint64_t;

inline constexpr GroupSet kSpecialGroup = 1;
inline constexpr GroupSet kNonAsciiGroup = 2;
inline constexpr GroupSet kWideSpaceGroup = 4;
inline constexpr uint32_t kNumGroups = 63;
inline constexpr GroupSet kAllGroups = (GroupSet{1} << kNumGroups) - 1;
inline constexpr GroupSet kPlainGroups = kAllGroups & ~kSpecialGroup;

// The group of each ASCII character, as a set of one.
inline constexpr std::array<GroupSet, 128> kAsciiGroups = [] {
  std::array<GroupSet, 128> groups{};
  uint32_t next = 6;
  for (uint32_t c = 0; c < 128; ++c) {
    if (c < 0x20 || c == 0x7F || c == '"' || c == '\\') {
      groups[c] = kSpecialGroup;
    } else if (c >= '0' && c <= '9') {
      groups[c] = GroupSet{1} << 3;
    } else if (c >= 'A' && c <= 'Z') {
      groups[c] = GroupSet{1} << (c <= 'F' ? 4 : 5);
    } else {
      groups[c] = GroupSet{1} << next++;
    }
  }
  return groups;
}();
static_assert(kAsciiGroups['~'] == GroupSet{1} << (kNumGroups - 1));
inline constexpr GroupSet kLetterGroups = [] {
  GroupSet groups = 0;
  for (uint32_t c = 'A'; c <= 'Z'; ++c) groups |= kAsciiGroups[c] | kAsciiGroups[c + 'a' - 'A'];
  return groups;
}();

// Where a byte stands in well-formed UTF-8 (RFC 3629, section 4).
struct Utf8State {
  uint8_t remaining = 0;  // bytes of the character that follow; the next is in [low, high]
  uint8_t low = 0x80;
  uint8_t high = 0xBF;
  uint8_t space = 0;  // which wide spaces the character may still become; 0: none
  bool operator==(const Utf8State&) const = default;
};

// Goes on by one byte: the group of the character so far, kSpecialGroup (and no change) if it is malformed.
inline GroupSet step_utf8(Utf8State& state, uint8_t byte) {
  if (state.remaining == 0) {
    if (byte < 0x80) return kAsciiGroups[byte];
    if (byte < 0xC2 || byte > 0xF4) return kSpecialGroup;
    state.remaining = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
    state.low = byte == 0xE0 ? 0xA0 : byte == 0xF0 ? 0x90 : 0x80;
    state.high = byte == 0xED ? 0x9F : byte == 0xF4 ? 0x8F : 0xBF;
    state.space = byte == 0xC2 ? 1 : byte == 0xE1 ? 2 : byte == 0xE2 ? 3 : byte == 0xE3 ? 4 : byte == 0xEF ? 5 : 0;
    return kNonAsciiGroup;
  }
  if (byte < state.low || byte > state.high) return kSpecialGroup;
  bool is_space = false;
  uint8_t space = 0;
  switch (state.space) {
    case 1:  // U+00A0
      is_space = byte == 0xA0;
      break;
    case 2:
      space = byte == 0x9A ? 6 : 0;
      break;
    case 3:
      space = byte == 0x80 ? 7 : byte == 0x81 ? 8 : 0;
      break;
    case 4:
      space = byte == 0x80 ? 6 : 0;
      break;
    case 5:
      space = byte == 0xBB ? 9 : 0;
      break;
    case 6:  // U+1680, U+3000
      is_space = byte == 0x80;
      break;
    case 7:  // U+2000 to U+200A, U+2028, U+2029, U+202F
      is_space = byte <= 0x8A || byte == 0xA8 || byte == 0xA9 || byte == 0xAF;
      break;
    case 8:  // U+205F
      is_space = byte == 0x9F;
      break;
    case 9:  // U+FEFF
      is_space = byte == 0xBF;
      break;
    default:
      break;
  }
  state = {static_cast<uint8_t>(state.remaining - 1), 0x80, 0xBF, space};
  return is_space ? kWideSpaceGroup : kNonAsciiGroup;
}

}  // namespace gd
