// A table that grows by pieces which stay where they are: growing copies nothing, and an entry keeps its place.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace gd {

template <class T, size_t kPiece = 32>
class Chunked {
 public:
  size_t size() const { return size_; }
  size_t capacity() const { return pieces_.size() * kPiece; }
  T& operator[](size_t i) { return pieces_[i / kPiece][i % kPiece]; }
  const T& operator[](size_t i) const { return pieces_[i / kPiece][i % kPiece]; }
  // Room for one more entry.
  void make_room() {
    if (size_ == capacity()) pieces_.push_back(std::make_unique<T[]>(kPiece));
  }
  // Adds a T() where there is room.
  T& add() { return (*this)[size_++]; }

 private:
  std::vector<std::unique_ptr<T[]>> pieces_;
  size_t size_ = 0;
};

}  // namespace gd
