// apply_token_bitmask_inplace for float32 and for 16-bit floats. Python's bitmask.py checks first and explains better;
// the checks here only keep memory safe.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>

#include "core/apply_mask.h"
#include "core/errors.h"

namespace nb = nanobind;

namespace {

using Logits = nb::ndarray<nb::ndim<2>, nb::device::cpu>;
using Bitmask = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::device::cpu>;
using Rows = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Calls apply(row of logits, row of the mask) for every row, or for `rows` of both, without the GIL.
template <typename Element, typename Apply>
void for_each_row(const Logits& logits, const Bitmask& bitmask, const std::optional<Rows>& rows, std::size_t num_bits,
                  Apply apply) {
  if (logits.dtype().bits != 8 * sizeof(Element) || logits.dtype().lanes != 1)
    throw std::invalid_argument("logits of another width");
  if (logits.data() == nullptr && logits.size() != 0) throw std::invalid_argument("logits without memory");
  if (bitmask.data() == nullptr && bitmask.size() != 0)
    throw gd::BitmaskError("the bitmask has no memory: its storage was given back. Pass a plain dense tensor.");
  const std::size_t num_rows = logits.shape(0);
  // An array without elements has arbitrary strides.
  if (bitmask.size() != 0 && bitmask.shape(1) > 1 && bitmask.stride(1) != 1)
    throw std::invalid_argument("bitmask rows must be contiguous");
  if (num_bits > bitmask.shape(1) * 32) throw std::invalid_argument("more columns than bits in a row of the bitmask");
  const std::size_t num_common = std::min<std::size_t>(num_rows, bitmask.shape(0));
  if (!rows && bitmask.shape(0) != num_rows) throw std::invalid_argument("bitmask and logits differ in rows");
  if (rows) {
    for (std::size_t i = 0; i < rows->shape(0); ++i) {
      const std::int64_t row = rows->data()[i];
      if (row < 0 || static_cast<std::size_t>(row) >= num_common) throw nb::index_error("row out of range");
    }
  }
  nb::gil_scoped_release unlocked;
  const std::size_t count = rows ? rows->shape(0) : num_rows;
  for (std::size_t i = 0; i < count; ++i) {
    const auto row = rows ? static_cast<std::ptrdiff_t>(rows->data()[i]) : static_cast<std::ptrdiff_t>(i);
    apply(static_cast<Element*>(logits.data()) + row * logits.stride(0), bitmask.data() + row * bitmask.stride(0));
  }
}

gd::MaskLoops loops_of(std::uint8_t number) {
  const auto loops = static_cast<gd::MaskLoops>(number);
  if (!gd::has_loops(loops)) throw std::invalid_argument("loops that this processor has not");
  return loops;
}

void apply_f32(const Logits& logits, const Bitmask& bitmask, const std::optional<Rows>& rows, std::size_t num_bits,
               std::uint8_t number) {
  const gd::MaskLoops loops = loops_of(number);
  for_each_row<float>(logits, bitmask, rows, num_bits, [&](float* row, const std::int32_t* mask) {
    gd::apply_mask_f32(row, logits.shape(1), logits.stride(1), mask, num_bits, loops);
  });
}

void apply_16(const Logits& logits, const Bitmask& bitmask, const std::optional<Rows>& rows, std::size_t num_bits, bool bfloat16,
              std::uint8_t number) {
  const gd::MaskLoops loops = loops_of(number);
  const std::uint16_t fill = bfloat16 ? gd::kNegativeInfinityBF16 : gd::kNegativeInfinityF16;
  for_each_row<std::uint16_t>(logits, bitmask, rows, num_bits, [&](std::uint16_t* row, const std::int32_t* mask) {
    gd::apply_mask_16(row, logits.shape(1), logits.stride(1), mask, num_bits, fill, loops);
  });
}

}  // namespace

void bind_bitmask(nb::module_& m) {
  using nb::literals::operator""_a;
  m.def("apply_token_bitmask_inplace_f32", &apply_f32, "logits"_a.noconvert(), "bitmask"_a.noconvert(), "rows"_a.noconvert().none(),
        "num_bits"_a, "loops"_a = 0,
        "Set logits[r, i] to -inf where bit i of bitmask[r] is 0, and for every i >= num_bits. For tests: loops by bits (1), AVX2, "
        "AVX-512.");
  m.def(
      "has_mask_loops", [](std::uint8_t number) { return gd::has_loops(static_cast<gd::MaskLoops>(number)); }, "loops"_a,
      "Whether this processor has them.");
  m.def("apply_token_bitmask_inplace_16", &apply_16, "logits"_a.noconvert(), "bitmask"_a.noconvert(), "rows"_a.noconvert().none(),
        "num_bits"_a, "bfloat16"_a, "loops"_a = 0, "The same on float16 or bfloat16, or on their bit patterns as uint16.");
}
