#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "core/compiled_grammar.h"
#include "core/errors.h"
#include "core/matcher.h"

namespace nb = nanobind;

namespace {

const char* name_of(gd::FrameKind kind) {
  switch (kind) {
    case gd::FrameKind::kTerminal:
      return "scalar";
    case gd::FrameKind::kRootBefore:
    case gd::FrameKind::kRootValue:
      return "document";
    case gd::FrameKind::kRootAfter:
      return "end";
    case gd::FrameKind::kObjectOpen:
      return "first_key";
    case gd::FrameKind::kKey:
      return "key";
    case gd::FrameKind::kColon:
      return "colon";
    case gd::FrameKind::kMemberBefore:
    case gd::FrameKind::kMemberValue:
      return "member_value";
    case gd::FrameKind::kMemberAfter:
      return "after_member";
    case gd::FrameKind::kMemberNext:
      return "next_key";
    case gd::FrameKind::kArrayOpen:
      return "first_item";
    case gd::FrameKind::kItemValue:
    case gd::FrameKind::kItemNext:
      return "next_item";
    case gd::FrameKind::kItemAfter:
      return "after_item";
    case gd::FrameKind::kWatched:  // told as what it watches
      break;
  }
  return "";
}

// Row `index` of a bitmask: int32, shape (batch, words), on the CPU, rows contiguous. `array` is set to what owns the memory: the
// caller keeps it until the row is written.
uint32_t* bitmask_row(const nb::object& bitmask, int64_t index, uint32_t num_words, nb::ndarray<>& array) {
  if (!nb::try_cast<nb::ndarray<>>(bitmask, array)) {
    if (nb::ndarray<nb::ro> read_only; nb::try_cast(bitmask, read_only)) {
      throw gd::BitmaskError("the bitmask is read-only; pass a writable array, such as a copy()");
    }
    throw gd::BitmaskError("the bitmask must be a numpy array or a torch tensor, made by allocate_token_bitmask");
  }
  if (array.dtype() != nb::dtype<int32_t>())
    throw gd::BitmaskError("the bitmask must have type int32; make it with allocate_token_bitmask");
  if (array.device_type() != nb::device::cpu::value)
    throw gd::BitmaskError("the bitmask must be on the CPU; copy it to the device after filling");
  if (array.ndim() != 2) {
    throw gd::BitmaskError("the bitmask must have shape (batch, words); this one has " + std::to_string(array.ndim()) +
                           " dimensions");
  }
  if (array.shape(1) != num_words) {
    throw gd::BitmaskError("a row of the bitmask has " + std::to_string(array.shape(1)) + " words; this vocabulary needs " +
                           std::to_string(num_words) +
                           ". Make it with allocate_token_bitmask(batch_size, vocab.size); where the model's logits are wider than "
                           "the tokenizer, give that width to the vocabulary (size=...)");
  }
  if (array.shape(1) > 1 && array.stride(1) != 1) throw gd::BitmaskError("the words of a bitmask row must be contiguous");
  if (index < 0 || static_cast<size_t>(index) >= array.shape(0)) {
    throw gd::BitmaskError("row " + std::to_string(index) + " is out of range: the bitmask has " + std::to_string(array.shape(0)) +
                           " rows");
  }
  return static_cast<uint32_t*>(array.data()) + index * array.stride(0);
}

gd::TokenId to_token(int64_t token) {
  if (token < 0 || token > int64_t{0xFFFFFFFE}) {
    throw gd::MatcherError("token " + std::to_string(token) + " is out of range");
  }
  return static_cast<gd::TokenId>(token);
}

std::vector<gd::TokenId> to_tokens(const std::vector<int64_t>& tokens) {
  std::vector<gd::TokenId> result;
  result.reserve(tokens.size());
  for (const int64_t token : tokens) result.push_back(to_token(token));
  return result;
}

}  // namespace

void bind_matcher(nb::module_& m) {
  using gd::Matcher;
  nb::class_<Matcher>(m, "Matcher", "The place of one sequence in its grammar.")
      .def(
          "__init__",
          [](Matcher* self, const std::shared_ptr<gd::CompiledGrammar>& grammar, const std::shared_ptr<gd::Vocabulary>& vocabulary,
             const std::vector<int64_t>& stop_token_ids) {
            std::vector<gd::TokenId> stops = to_tokens(stop_token_ids);
            const nb::gil_scoped_release release;
            new (self) Matcher(grammar, vocabulary, std::move(stops));
          },
          nb::arg("grammar"), nb::arg("vocabulary"), nb::arg("stop_token_ids") = std::vector<int64_t>())
      .def(
          "fill_next_token_bitmask",
          [](const Matcher& self, const nb::object& bitmask, int64_t index) {
            nb::ndarray<> owner;
            uint32_t* row = bitmask_row(bitmask, index, self.vocabulary().num_words(), owner);
            const nb::gil_scoped_release release;
            self.fill(row);
          },
          nb::arg("bitmask").none(), nb::arg("index") = 0,
          "Write the mask of the next token to row `index`: int32, (batch, ceil(size / 32)), numpy or torch on the CPU. After "
          "termination the row holds the stop tokens. Raises BitmaskError.")
      .def(
          "accept_token",
          [](Matcher& self, int64_t token) {
            const gd::TokenId id = to_token(token);
            const nb::gil_scoped_release release;
            return self.accept_token(id);
          },
          nb::arg("token_id"),
          "Go on behind a token. False, and no change, if it is not allowed. Raises MatcherError for an id outside of the "
          "vocabulary.")
      .def(
          "accept_tokens",
          [](Matcher& self, const std::vector<int64_t>& tokens) {
            const std::vector<gd::TokenId> ids = to_tokens(tokens);
            const nb::gil_scoped_release release;
            return self.accept_tokens(ids);
          },
          nb::arg("token_ids"))
      .def(
          "validate_tokens",
          [](Matcher& self, const std::vector<int64_t>& tokens) {
            const std::vector<gd::TokenId> ids = to_tokens(tokens);
            const nb::gil_scoped_release release;
            return self.validate_tokens(ids);
          },
          nb::arg("token_ids"))
      .def(
          "accept_bytes",
          [](Matcher& self, const nb::bytes& data) {
            const std::string_view text(data.c_str(), data.size());
            const nb::gil_scoped_release release;
            return self.accept_bytes(text);
          },
          nb::arg("data"))
      .def(
          "count_accepted_bytes",
          [](const Matcher& self, const nb::bytes& data) {
            const std::string_view text(data.c_str(), data.size());
            const nb::gil_scoped_release release;
            Matcher probe(self);
            size_t n = 0;
            probe.accept_bytes(text, &n);
            return n;
          },
          nb::arg("data"), "How many of the bytes would be accepted; the state is unchanged.")
      .def(
          "rollback",
          [](Matcher& self, int64_t num_steps) {
            if (num_steps < 0) throw gd::MatcherError("can't roll back " + std::to_string(num_steps) + " steps");
            self.rollback(static_cast<size_t>(num_steps));
          },
          nb::arg("num_steps") = 1)
      .def("reset", &Matcher::reset, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "_copy_state", [](const Matcher& self) { return new Matcher(self); }, nb::rv_policy::take_ownership)
      .def("is_accepting", &Matcher::is_accepting, nb::call_guard<nb::gil_scoped_release>())
      .def("is_terminated", &Matcher::is_terminated)
      .def_prop_ro("num_steps", &Matcher::num_steps)
      .def("allowed_bytes",
           [](const Matcher& self) {
             std::string bytes;
             self.allowed_bytes().for_each([&](uint8_t byte) { bytes.push_back(static_cast<char>(byte)); });
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def("expectations",
           [](const Matcher& self) {
             nb::list result;
             for (const gd::Engine::Expectation& e : self.expectations()) {
               nb::list names;
               for (const std::string& name : e.names) names.append(nb::bytes(name.data(), name.size()));
               const nb::object node = e.node == gd::kNone ? nb::object(nb::none()) : nb::object(nb::int_(e.node));
               result.append(nb::make_tuple(name_of(e.kind), node, names, e.other_names, e.can_close));
             }
             return result;
           })
      .def(
          "set_memo_limit", [](Matcher& self, size_t bytes) { self.engine().set_memo_limit(bytes); }, nb::arg("bytes"))
      .def("engine_memory_bytes", [](const Matcher& self) { return self.engine().memory_bytes(); });
}
