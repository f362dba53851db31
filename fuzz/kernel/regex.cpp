// Regular expressions against their definition: a term is built from the input, and every short text is matched twice, by the
// derivatives of expression.cpp and by trying all ways to split it.
#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "common.h"
#include "core/expression.h"

namespace {

using gd::Regex;

class Definition {
 public:
  Definition(const gd::Grammar& grammar, std::string text) : grammar_(grammar), text_(std::move(text)) {}

  bool matches(gd::RegexId r, size_t from, size_t to) {
    const auto key = std::make_tuple(r, from, to);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    const bool result = decide(r, from, to);
    known_.emplace(key, result);
    return result;
  }

 private:
  bool decide(gd::RegexId id, size_t from, size_t to) {
    const Regex& r = grammar_.regexes[id];
    const std::span<const gd::RegexId> parts = grammar_.parts(r);
    const auto part = [&](gd::RegexId p) { return matches(p, from, to); };
    switch (r.kind) {
      case Regex::kByteClass:
        return to - from == 1 && r.bytes.contains(static_cast<uint8_t>(text_[from]));
      case Regex::kConcatenation:
        return concatenation(r, 0, from, to);
      case Regex::kAlternation:
        return std::any_of(parts.begin(), parts.end(), part);
      case Regex::kIntersection:
        return std::all_of(parts.begin(), parts.end(), part);
      case Regex::kComplement:
        return !matches(parts[0], from, to);
      case Regex::kLiteralSet:
        return std::find(r.literals.begin(), r.literals.end(), text_.substr(from, to - from)) != r.literals.end();
      case Regex::kRepetition:
        return repetition(r, from, to);
      case Regex::kAutomaton:
        return automaton(r, from, to);
    }
    return false;
  }
  bool concatenation(const Regex& r, size_t index, size_t from, size_t to) {
    const std::span<const gd::RegexId> parts = grammar_.parts(r);
    if (index == parts.size()) return from == to;
    for (size_t middle = from; middle <= to; ++middle) {
      if (matches(parts[index], from, middle) && concatenation(r, index + 1, middle, to)) return true;
    }
    return false;
  }
  // Which positions can be reached by exactly n parts; counts past the length of the text add nothing but empty parts.
  bool repetition(const Regex& r, size_t from, size_t to) {
    std::set<size_t> reached{from};
    const uint64_t most = std::min<uint64_t>(r.maximum, uint64_t{r.minimum} + 16);
    const gd::RegexId part = grammar_.parts(r)[0];
    const bool empty_part = matches(part, from, from);
    for (uint64_t n = 0;; ++n) {
      if (reached.count(to) != 0 && (n >= r.minimum || empty_part)) return true;
      if (n >= most || n > 40 || reached.empty()) return false;
      std::set<size_t> next;
      for (const size_t at : reached) {
        for (size_t end = at; end <= to; ++end) {
          if (matches(part, at, end)) next.insert(end);
        }
      }
      reached = std::move(next);
    }
  }
  bool automaton(const Regex& r, size_t from, size_t to) {
    uint32_t state = 0;
    for (size_t i = from; i < to; ++i) {
      const auto& transitions = r.states[state].transitions;
      const auto next = std::find_if(transitions.begin(), transitions.end(),
                                     [&](const auto& t) { return t.first.contains(static_cast<uint8_t>(text_[i])); });
      if (next == transitions.end()) return false;
      state = next->second;
    }
    return r.states[state].accepting;
  }

  const gd::Grammar& grammar_;
  std::string text_;
  std::map<std::tuple<gd::RegexId, size_t, size_t>, bool> known_;
};

constexpr std::string_view kLetters = "ab\"\\\xc3\xa9";

gd::ByteSet letters(uint8_t bits) {
  gd::ByteSet set;
  for (size_t i = 0; i < kLetters.size(); ++i) {
    if ((bits >> i) & 1) set.insert(static_cast<uint8_t>(kLetters[i]));
  }
  return set;
}

Regex build(fuzz::Input& input, gd::Grammar& grammar) {
  Regex r;
  const auto num_known = static_cast<uint32_t>(grammar.regexes.size());
  r.first_part = static_cast<uint32_t>(grammar.regex_parts.size());
  const auto add_part = [&] {
    grammar.regex_parts.push_back(input.below(num_known));
    ++r.num_parts;
  };
  r.kind = static_cast<Regex::Kind>(num_known == 0 ? 0 : input.below(8));
  switch (r.kind) {
    case Regex::kByteClass:
      r.bytes = letters(input.byte());
      break;
    case Regex::kConcatenation:
    case Regex::kAlternation:
    case Regex::kIntersection:
      for (uint32_t n = input.below(4); n > 0; --n) add_part();
      break;
    case Regex::kRepetition:
      add_part();
      r.minimum = input.below(4);
      r.maximum = input.below(3) == 0 ? gd::kNone : r.minimum + input.below(4);
      break;
    case Regex::kComplement:
      add_part();
      break;
    case Regex::kLiteralSet:
      for (uint32_t n = input.below(5); n > 0; --n) {
        std::string literal;
        for (uint32_t length = input.below(5); length > 0; --length) literal.push_back(kLetters[input.below(kLetters.size())]);
        r.literals.push_back(literal);
      }
      std::sort(r.literals.begin(), r.literals.end());
      r.literals.erase(std::unique(r.literals.begin(), r.literals.end()), r.literals.end());
      break;
    case Regex::kAutomaton: {
      const uint32_t num_states = 1 + input.below(4);
      r.states.resize(num_states);
      for (Regex::State& state : r.states) {
        state.accepting = input.below(2) == 1;
        uint8_t free = 0x3F;
        for (uint32_t n = input.below(3); n > 0; --n) {
          const uint8_t bits = input.byte() & free;
          free = static_cast<uint8_t>(free & ~bits);
          state.transitions.emplace_back(letters(bits), input.below(num_states));
        }
      }
      break;
    }
  }
  return r;
}

void compare(gd::ExpressionPool& pool, gd::ExprId start, const gd::Grammar& grammar, const std::string& text) {
  gd::ExprId e = start;
  for (const char c : text) e = pool.step(e, static_cast<uint8_t>(c));
  Definition definition(grammar, text);
  const bool matches = definition.matches(static_cast<gd::RegexId>(grammar.regexes.size() - 1), 0, text.size());
  if (pool.nullable(e) != matches)
    fuzz::fail("the derivatives and the definition differ on " + std::to_string(text.size()) + " bytes");
  if (matches) fuzz::check(pool.is_nonempty(start), "an expression that matches something is empty");
  if (pool.num_strings(start) == 0) fuzz::check(!matches, "an expression that matches something counts no strings");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  gd::Grammar grammar;
  const std::string text = input.text(input.below(10));
  for (uint32_t n = 1 + input.below(14); n > 0; --n) grammar.regexes.push_back(build(input, grammar));
  gd::Node& node = grammar.nodes.emplace_back();
  node.kind = gd::Node::kTerminal;
  node.regex = static_cast<gd::RegexId>(grammar.regexes.size() - 1);
  try {
    gd::Work work;
    work.begin("max_compile_seconds", 0.5);
    gd::ExpressionPool pool(gd::ByteSet::all(), 3000, work);
    const std::vector<gd::ExprId> loaded = pool.load(grammar);
    std::string spelled;
    for (const char c : text) spelled.push_back(kLetters[static_cast<uint8_t>(c) % kLetters.size()]);
    for (size_t n = 0; n <= spelled.size(); ++n) compare(pool, loaded.back(), grammar, spelled.substr(0, n));
    pool.counted_run(loaded.back());
    pool.explored_cover(loaded.back());
    pool.content_hash(loaded.back());
  } catch (const gd::LimitError&) {
  }
  return 0;
}
