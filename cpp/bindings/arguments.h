// Arguments that are converted within the call. nanobind's casters of vectors and shared pointers allocate and may not throw: where memory
// runs out in one of them, the process ends. Here it is std::bad_alloc, which becomes a MemoryError.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>

#include <memory>
#include <string>
#include <vector>

// The items of a list. Raises TypeError where one is none of `Item`.
template <class Item>
std::vector<Item> items_of(const nanobind::list& list, const char* expected) {
  std::vector<Item> result;
  result.reserve(list.size());
  for (const nanobind::handle value : list) {
    Item item{};
    if (!nanobind::try_cast(value, item)) {
      throw nanobind::type_error(("item " + std::to_string(result.size()) + " must be " + expected).c_str());
    }
    result.push_back(item);
  }
  return result;
}

// A pointer that keeps the Python object alive.
template <class T>
std::shared_ptr<T> shared(nanobind::handle_t<T> object) {
  // Where there is no memory for the count, the deleter gives the reference back.
  return {nanobind::inst_ptr<T>(object), nanobind::detail::py_deleter{object.inc_ref().ptr()}};
}
