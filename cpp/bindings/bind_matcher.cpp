#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "bindings/arguments.h"
#include "core/compiled_grammar.h"
#include "core/errors.h"
#include "core/matcher.h"

namespace nb = nanobind;

namespace {

// An integer of Python, of any size: a token id that no vocabulary has is a MatcherError, however large, and no TypeError.
struct AnyInteger {
  int64_t value = 0;
  bool is_beyond = false;  // of 64 bits
};

}  // namespace

namespace nanobind::detail {

template <>
struct type_caster<AnyInteger> {
  NB_TYPE_CASTER(AnyInteger, const_name("int"))

  bool from_python(handle source, uint8_t flags, cleanup_list* cleanup) noexcept {
    make_caster<int64_t> small;
    if (small.from_python(source, flags, cleanup)) {
      value = {small.value, false};
      return true;
    }
    value = {0, true};
    return PyLong_Check(source.ptr()) != 0;
  }
};

}  // namespace nanobind::detail

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
    case gd::FrameKind::kPart:
      return "part";
    case gd::FrameKind::kWatched:  // told as what it watches
      break;
  }
  return "";
}

// The rows of a bitmask: int32, shape (batch, words), on the CPU, the words of a row contiguous. Keeps the memory alive.
class BitmaskRows {
 public:
  explicit BitmaskRows(const nb::object& bitmask) {
    if (!nb::try_cast<nb::ndarray<>>(bitmask, array_)) {
      if (nb::ndarray<nb::ro> read_only; nb::try_cast(bitmask, read_only)) {
        throw gd::BitmaskError("the bitmask is read-only; pass a writable array, such as a copy()");
      }
      throw gd::BitmaskError("the bitmask must be a numpy array or a torch tensor, made by allocate_token_bitmask");
    }
    if (array_.dtype() != nb::dtype<int32_t>())
      throw gd::BitmaskError("the bitmask must have type int32; make it with allocate_token_bitmask");
    if (array_.device_type() != nb::device::cpu::value)
      throw gd::BitmaskError("the bitmask must be on the CPU; copy it to the device after filling");
    if (array_.ndim() != 2) {
      throw gd::BitmaskError("the bitmask must have shape (batch, words); this one has " + std::to_string(array_.ndim()) +
                             " dimensions");
    }
    if (array_.shape(1) > 1 && array_.stride(1) != 1) throw gd::BitmaskError("the words of a bitmask row must be contiguous");
    if (array_.data() == nullptr && array_.size() != 0)  // torch's fake tensors, and those whose storage was given back
      throw gd::BitmaskError("the bitmask has no memory; make it with allocate_token_bitmask");
    if (array_.shape(0) > 1 && std::abs(array_.stride(0)) < static_cast<int64_t>(array_.shape(1)))
      throw gd::BitmaskError("the rows of the bitmask share memory (an expanded view?); pass a copy of it");
  }

  // Where row `index` begins, for a vocabulary whose masks have `num_words` words.
  uint32_t* row(int64_t index, uint32_t num_words) const {
    if (array_.shape(1) != num_words) {
      throw gd::BitmaskError(
          "a row of the bitmask has " + std::to_string(array_.shape(1)) + " words; this vocabulary needs " +
          std::to_string(num_words) +
          ". Make it with allocate_token_bitmask(batch_size, vocab.size); where the model's logits are wider than "
          "the tokenizer, give that width to the vocabulary (size=...)");
    }
    if (index < 0 || static_cast<size_t>(index) >= array_.shape(0)) {
      throw gd::BitmaskError("row " + std::to_string(index) + " is out of range: the bitmask has " +
                             std::to_string(array_.shape(0)) + " rows");
    }
    return static_cast<uint32_t*>(array_.data()) + index * array_.stride(0);
  }

 private:
  nb::ndarray<> array_;
};

gd::TokenId to_token(AnyInteger token) {
  if (token.is_beyond) throw gd::MatcherError("the token id is out of range: it has more than 64 bits");
  if (token.value < 0 || token.value > int64_t{0xFFFFFFFE}) {
    throw gd::MatcherError("token " + std::to_string(token.value) + " is out of range");
  }
  return static_cast<gd::TokenId>(token.value);
}

uint32_t to_count(const char* name, int64_t count) {
  if (count < 0) throw gd::MatcherError(std::string(name) + " must not be negative, but is " + std::to_string(count));
  return static_cast<uint32_t>(std::min<int64_t>(count, gd::kNone - 1));
}

std::optional<uint32_t> to_python(gd::Cost cost) { return cost >= gd::kFar ? std::optional<uint32_t>() : cost; }

std::vector<gd::TokenId> to_tokens(const nb::list& tokens) {
  std::vector<gd::TokenId> result;
  result.reserve(tokens.size());
  for (const AnyInteger token : items_of<AnyInteger>(tokens, "a token id")) result.push_back(to_token(token));
  return result;
}

// Runs task(0), …, task(count - 1) on this thread and, if that has not ended after kPatience, on up to `max_threads` in all: a batch
// of remembered masks takes less time than a thread takes to start. Rethrows what a task threw first; tasks not begun then are left.
template <class Task>
void run_all(size_t count, size_t max_threads, const Task& task) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPatience = std::chrono::microseconds(50);
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run_one = [&] {
    const size_t i = next.fetch_add(1, std::memory_order_relaxed);
    if (i >= count) return false;
    try {
      task(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (failure == nullptr) failure = std::current_exception();
      next.store(count, std::memory_order_relaxed);
    }
    return true;
  };
  const Clock::time_point begun = Clock::now();
  std::vector<std::jthread> helpers;  // joined last of all, also where starting one fails
  while (run_one()) {
    const size_t taken = next.load(std::memory_order_relaxed);
    if (taken >= count || max_threads < 2 || !helpers.empty() || Clock::now() - begun < kPatience) continue;
    const size_t num_helpers = std::min(max_threads - 1, count - taken);
    for (size_t i = 0; i < num_helpers; ++i) {
      try {
        helpers.emplace_back([&] {
          while (run_one()) {
          }
        });
      } catch (const std::system_error&) {  // no thread to be had: the ones that are there do the work
        max_threads = 1;
        break;
      }
    }
  }
  helpers.clear();
  if (failure != nullptr) std::rethrow_exception(failure);
}

void fill_many(const nb::list& matcher_list, const nb::object& bitmask, const nb::list& rows_list, size_t max_threads) {
  const auto matchers = items_of<const gd::Matcher*>(matcher_list, "a matcher");
  const auto indices = items_of<int64_t>(rows_list, "the number of a row");
  const BitmaskRows rows(bitmask);
  if (matchers.size() != indices.size()) {
    throw gd::BitmaskError(std::to_string(matchers.size()) + " matchers can't fill " + std::to_string(indices.size()) + " rows");
  }
  std::vector<uint32_t*> targets;
  targets.reserve(matchers.size());
  for (size_t i = 0; i < matchers.size(); ++i) {
    if (matchers[i] == nullptr) throw nb::type_error("a matcher is None");
    targets.push_back(rows.row(indices[i], matchers[i]->vocabulary().num_words()));
  }
  std::vector<int64_t> sorted = indices;
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end()) {
    throw gd::BitmaskError("row " + std::to_string(*twice) + " is named twice");
  }
  const nb::gil_scoped_release release;
  run_all(matchers.size(), max_threads, [&](size_t i) { matchers[i]->fill(targets[i]); });
}

// Row index holds the mask before any draft token, row index + 1 + i the one behind draft token i. What follows a refused token is
// refused as well; its row allows everything.
std::vector<bool> fill_drafts(const gd::Matcher& self, const std::vector<gd::TokenId>& drafts, const std::vector<int64_t>& parents,
                              const std::vector<uint32_t*>& rows) {
  self.fill(rows[0]);
  std::vector<std::optional<gd::Matcher>> behind(drafts.size());
  std::vector<bool> allowed(drafts.size());
  for (size_t i = 0; i < drafts.size(); ++i) {
    const gd::Matcher* parent = &self;
    if (parents[i] >= 0) {
      const std::optional<gd::Matcher>& at = behind[static_cast<size_t>(parents[i])];
      parent = at.has_value() ? &*at : nullptr;
    }
    if (parent != nullptr) {
      behind[i].emplace(*parent);
      allowed[i] = behind[i]->accept_token(drafts[i]);
      if (!allowed[i]) behind[i].reset();
    }
    if (allowed[i])
      behind[i]->fill(rows[i + 1]);
    else
      std::fill_n(rows[i + 1], self.vocabulary().num_words(), 0xFFFFFFFFu);
  }
  return allowed;
}

}  // namespace

void bind_matcher(nb::module_& m) {
  using gd::Matcher;
  m.def("fill_next_token_bitmasks", &fill_many, nb::arg("matchers"), nb::arg("bitmask").none(), nb::arg("rows"),
        nb::arg("max_threads"), "Write the mask of matchers[i] to row rows[i], for all of them, without the GIL.");
  nb::class_<Matcher>(m, "Matcher", "The place of one sequence in its grammar.")
      .def(
          "__init__",
          [](Matcher* self, nb::handle_t<gd::CompiledGrammar> grammar, nb::handle_t<gd::Vocabulary> vocabulary,
             const nb::list& stop_token_ids, std::optional<int64_t> max_tokens, bool counts_stop, int64_t closing_budget) {
            std::shared_ptr<gd::CompiledGrammar> shared_grammar = shared(grammar);
            std::shared_ptr<gd::Vocabulary> shared_vocabulary = shared(vocabulary);
            std::vector<gd::TokenId> stops = to_tokens(stop_token_ids);
            Matcher::Limit limit;
            limit.counts_stop = counts_stop;
            if (max_tokens.has_value()) limit.max_tokens = to_count("max_tokens", *max_tokens);
            limit.closing_budget = to_count("closing_budget", closing_budget);
            const nb::gil_scoped_release release;
            new (self) Matcher(std::move(shared_grammar), std::move(shared_vocabulary), std::move(stops), limit);
          },
          nb::arg("grammar"), nb::arg("vocabulary"), nb::arg("stop_token_ids") = nb::list(), nb::arg("max_tokens") = nb::none(),
          nb::arg("counts_stop") = true, nb::arg("closing_budget") = 0)
      .def(
          "fill_next_token_bitmask",
          [](const Matcher& self, const nb::object& bitmask, int64_t index) {
            const BitmaskRows rows(bitmask);
            uint32_t* row = rows.row(index, self.vocabulary().num_words());
            const nb::gil_scoped_release release;
            self.fill(row);
          },
          nb::arg("bitmask").none(), nb::arg("index") = 0,
          "Write the mask of the next token to row `index`: int32, (batch, ceil(size / 32)), numpy or torch on the CPU. After "
          "termination the row holds the stop tokens. Raises BitmaskError.")
      .def(
          "accept_token",
          [](Matcher& self, AnyInteger token) {
            const gd::TokenId id = to_token(token);
            const nb::gil_scoped_release release;
            return self.accept_token(id);
          },
          nb::arg("token_id"),
          "Go on behind a token. False, and no change, if it is not allowed. Raises MatcherError for an id outside of the "
          "vocabulary.")
      .def(
          "accept_tokens",
          [](Matcher& self, const nb::list& tokens) {
            const std::vector<gd::TokenId> ids = to_tokens(tokens);
            const nb::gil_scoped_release release;
            return self.accept_tokens(ids);
          },
          nb::arg("token_ids"))
      .def(
          "validate_tokens",
          [](Matcher& self, const nb::list& tokens) {
            const std::vector<gd::TokenId> ids = to_tokens(tokens);
            const nb::gil_scoped_release release;
            return self.validate_tokens(ids);
          },
          nb::arg("token_ids"))
      .def(
          "fill_draft_bitmasks",
          [](const Matcher& self, const nb::list& tokens, const nb::list& parents_list, const nb::object& bitmask, int64_t index) {
            const std::vector<gd::TokenId> drafts = to_tokens(tokens);
            const auto parents = items_of<int64_t>(parents_list, "the number of a draft token, or -1");
            if (parents.size() != drafts.size()) {
              throw gd::MatcherError(std::to_string(drafts.size()) + " draft tokens need as many parents, not " +
                                     std::to_string(parents.size()));
            }
            for (size_t i = 0; i < parents.size(); ++i) {
              if (parents[i] < -1 || parents[i] >= static_cast<int64_t>(i)) {
                throw gd::MatcherError("the parent of draft token " + std::to_string(i) + " is " + std::to_string(parents[i]) +
                                       ", but must be -1 or an earlier draft token");
              }
            }
            for (const gd::TokenId id : drafts) {
              if (id >= self.vocabulary().size()) throw gd::MatcherError("token " + std::to_string(id) + " is out of range");
            }
            const BitmaskRows all(bitmask);
            std::vector<uint32_t*> rows;
            rows.reserve(drafts.size() + 1);
            for (size_t i = 0; i <= drafts.size(); ++i) {
              rows.push_back(all.row(index + static_cast<int64_t>(i), self.vocabulary().num_words()));
            }
            const nb::gil_scoped_release release;
            return fill_drafts(self, drafts, parents, rows);
          },
          nb::arg("token_ids"), nb::arg("parents"), nb::arg("bitmask").none(), nb::arg("index") = 0,
          "Write the mask of the next token to row `index`, and the one behind draft token i to row index + 1 + i. The state is "
          "unchanged.")
      .def(
          "accept_bytes",
          [](Matcher& self, const nb::bytes& data, int64_t num_tokens) {
            const std::string_view text(data.c_str(), data.size());
            const uint32_t count = to_count("num_tokens", num_tokens);
            const nb::gil_scoped_release release;
            return self.accept_bytes(text, count);
          },
          nb::arg("data"), nb::arg("num_tokens") = 0)
      .def(
          "count_accepted_bytes",
          [](const Matcher& self, const nb::bytes& data) {
            const std::string_view text(data.c_str(), data.size());
            const nb::gil_scoped_release release;
            Matcher probe(self);
            size_t n = 0;
            probe.accept_bytes(text, 0, &n);
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
      .def(
          "_copy_unlimited",
          [](const Matcher& self) {
            auto copy = std::make_unique<Matcher>(self);
            copy->drop_limit();
            return copy.release();
          },
          nb::rv_policy::take_ownership)
      .def(
          "longest_run",
          [](const Matcher& self, const nb::bytes& bytes, size_t max_length) {
            gd::ByteSet set;
            for (const char c : std::string_view(bytes.c_str(), bytes.size())) set.insert(static_cast<uint8_t>(c));
            const nb::gil_scoped_release release;
            return self.longest_run(set, max_length);
          },
          nb::arg("bytes"), nb::arg("max_length"))
      .def("is_accepting", &Matcher::is_accepting, nb::call_guard<nb::gil_scoped_release>())
      .def("is_terminated", &Matcher::is_terminated)
      .def_prop_ro("num_steps", &Matcher::num_steps)
      .def("distance", [](const Matcher& self) { return to_python(self.distance()); })
      .def("byte_distance", [](const Matcher& self) { return to_python(self.byte_distance()); })
      .def(
          "shortest_completion",
          [](const Matcher& self, size_t max_bytes) {
            std::string text;
            {
              const nb::gil_scoped_release release;
              text = self.shortest_completion(max_bytes);
            }
            return nb::bytes(text.data(), text.size());
          },
          nb::arg("max_bytes"))
      .def(
          "forced_bytes",
          [](const Matcher& self, size_t max_bytes) {
            std::string text;
            {
              const nb::gil_scoped_release release;
              text = self.forced_bytes(max_bytes);
            }
            return nb::bytes(text.data(), text.size());
          },
          nb::arg("max_bytes"))
      .def("text",
           [](const Matcher& self) {
             const std::string text = self.text();
             return nb::bytes(text.data(), text.size());
           })
      .def_prop_ro("tokens_left",
                   [](const Matcher& self) {
                     const uint32_t left = self.tokens_left();
                     return left == gd::kNone ? std::optional<uint32_t>() : left;
                   })
      .def_prop_ro("stop_token_ids", [](const Matcher& self) { return self.stop_tokens(); })
      .def_prop_ro("counts_stop_token", [](const Matcher& self) { return self.limit().counts_stop; })
      .def_prop_ro("closing_budget", [](const Matcher& self) { return self.limit().closing_budget; })
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
