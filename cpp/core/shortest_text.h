// The shortest strings of a regular expression, over the bytes that are tokens by themselves.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "expression.h"

namespace gd {

class ShortestTexts {
 public:
  ShortestTexts(ExpressionPool& pool, const ByteSet& alphabet);

  // A shortest string of `e` (some string, where searches have come to too much), and the states it passes: states[i] behind its first i
  // bytes (states[0] = e). From each of them the same way is found again. Throws LimitError.
  struct Path {
    std::string text;
    std::vector<ExprId> states;
  };
  Path find(ExprId e);
  // Shows the strings of `e` one after another, none shorter than one before it, until `is_taken` returns true. False if there are no
  // more. Throws LimitError.
  bool list(ExprId e, const std::function<bool(const std::string&)>& is_taken);
  const std::vector<uint8_t>& order() const { return order_; }

 private:
  static constexpr size_t kMostListed = 100'000;
  // States that all searches may visit, and how many more for each: visiting one is up to a tenth of a millisecond.
  static constexpr size_t kCredit = 500;
  static constexpr size_t kShareOfEach = 0;

  uint32_t length(ExprId e);  // of the string that `find` finds
  Path search(ExprId e);
  Path some(ExprId e);
  void remember(const Path& path);
  Path follow(ExprId e) const;

  ExpressionPool& pool_;
  struct Step {
    ExprId next = 0;
    uint32_t length = 0;  // of what is left, this byte included
    uint8_t byte = 0;
  };
  std::unordered_map<ExprId, Step> steps_;  // of the strings that were found
  size_t credit_ = kCredit;
  std::vector<uint8_t> order_;  // the alphabet, letters first: what is tried first where lengths are equal
};

}  // namespace gd
