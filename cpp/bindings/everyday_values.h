// Values of Python as everyday schemas have them, and how they are written in keys: what is written alike is alike. What is of another
// kind, or beyond what C++ holds, is not everyday.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "bindings/everyday.h"

namespace gd::everyday {

// The value of the key, borrowed; nothing if there is none.
inline PyObject* get(nb::handle dict, nb::handle key) {
  PyObject* found = PyDict_GetItemWithError(dict.ptr(), key.ptr());
  if (found == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
  return found;
}

inline std::string_view text_of(PyObject* value) {
  if (!PyUnicode_CheckExact(value)) throw NotEveryday{};
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(value, &size);
  if (data == nullptr) {  // a lone surrogate
    PyErr_Clear();
    throw NotEveryday{};
  }
  return {data, static_cast<size_t>(size)};
}

// Whether a text stands between quotes as it is.
inline bool is_plain(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == '"' || byte == '\\') return false;
  }
  return true;
}

inline bool is_bool(PyObject* value) { return value == Py_True || value == Py_False; }

inline uint32_t count_of(PyObject* value) {
  if (!PyLong_CheckExact(value)) throw NotEveryday{};
  int overflow = 0;
  const long long n = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0 || n < 0 || n >= kNone) throw NotEveryday{};
  return static_cast<uint32_t>(n);
}

inline bool is_positive(PyObject* number) {
  if (PyFloat_CheckExact(number)) return PyFloat_AsDouble(number) > 0;
  return count_of(number) > 0;
}

inline void add_word(std::string& out, uint64_t value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); }
inline void add_text(std::string& out, std::string_view text) {
  add_word(out, text.size());
  out.append(text);
}

// A number by its value: equal for 1 and 1.0.
inline void add_number(std::string& out, PyObject* value) {
  if (PyFloat_CheckExact(value)) {
    const double number = PyFloat_AsDouble(value);
    if (!(number > -9e15 && number < 9e15)) throw NotEveryday{};
    if (number != static_cast<double>(static_cast<long long>(number))) {
      out.push_back('f');
      uint64_t bits = 0;
      std::memcpy(&bits, &number, sizeof bits);
      add_word(out, bits);
      return;
    }
    out.push_back('i');
    add_word(out, static_cast<uint64_t>(static_cast<long long>(number)));
    return;
  }
  if (!PyLong_CheckExact(value)) throw NotEveryday{};
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0) throw NotEveryday{};
  out.push_back('i');
  add_word(out, static_cast<uint64_t>(number));
}

inline void add_scalar(std::string& out, PyObject* value) {
  if (PyUnicode_CheckExact(value)) {
    out.push_back('"');
    add_text(out, text_of(value));
  } else if (value == Py_None || is_bool(value)) {
    out.push_back(value == Py_None ? 'n' : value == Py_True ? 't' : 'f');
  } else {
    add_number(out, value);
  }
}

}  // namespace gd::everyday
