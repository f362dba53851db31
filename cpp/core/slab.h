// Many objects of one size that live as long as their owner: allocated, and freed, in pieces. A kilobyte is too large for the
// allocator's fast lists, and an engine has hundreds of such rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace gd {

template <class T>
class Slab {
 public:
  // A new object; its members are as `new T` leaves them. Stays where it is.
  T* make() {
    if (used_ == size_) grow();
    return &pieces_.back()[used_++];
  }

 private:
  static constexpr size_t kFirst = 4, kMost = 32;

  void grow() {
    const size_t size = std::clamp(2 * size_, kFirst, kMost);
    pieces_.push_back(std::unique_ptr<T[]>(new T[size]));
    size_ = size;
    used_ = 0;
  }

  std::vector<std::unique_ptr<T[]>> pieces_;
  size_t size_ = 0;  // of the last piece
  size_t used_ = 0;
};

}  // namespace gd
