#include "terminal_table.h"

#include <algorithm>

namespace gd {
namespace {

// Adds the residuals of the tokens below trie node `node` (which completes the terminal) that are not inside.
void add_residuals(std::vector<std::pair<std::string_view, TokenId>>& out, const Vocabulary& vocabulary, uint32_t node,
                   const std::vector<uint32_t>& inside) {
  const Trie& trie = vocabulary.trie();
  const uint32_t consumed = trie.depth(node) + 1;
  for (uint32_t t = trie.first_token(node + 1); t < trie.first_token(trie.end(node)); ++t) {
    const TokenId token = trie.token(t);
    if (!has_token(inside.data(), token)) out.emplace_back(std::string_view(vocabulary.text(token)).substr(consumed), token);
  }
}

}  // namespace

size_t TerminalTable::memory_bytes() const {
  size_t bytes = sizeof(TerminalTable) + inside.memory_bytes() + residual.memory_bytes() + 4 * exit_tokens.capacity();
  for (const TokenSet& set : at_most) bytes += set.memory_bytes();
  for (const std::vector<TokenId>& list : by_need) bytes += 4 * list.capacity() + sizeof(list);
  for (const Exit& exit : exits) bytes += sizeof(Exit) + 4 * exit.tokens.capacity() + exit.residual.memory_bytes();
  return bytes;
}

std::shared_ptr<const TerminalTable> build_table(ExpressionPool& pool, ExprId e, const Vocabulary& vocabulary) {
  const Trie& trie = vocabulary.trie();
  std::vector<uint32_t> inside(vocabulary.num_words(), 0);
  std::vector<uint32_t> completing;  // trie nodes behind which the terminal is complete, with tokens below
  std::vector<const ExprId*> rows(trie.max_depth() + 1);
  rows[0] = pool.transitions(e);
  for (uint32_t i = 0; i < trie.size();) {
    const uint32_t depth = trie.depth(i);
    const ExprId next = rows[depth][trie.byte(i)];
    if (next == ExpressionPool::kEmpty) {
      i = trie.end(i);
      continue;
    }
    set_tokens(trie, trie.first_token(i), trie.first_token(i + 1), inside.data());
    if (pool.nullable(next) && trie.end(i) != i + 1) completing.push_back(i);
    if (next == ExpressionPool::kEpsilon) {
      i = trie.end(i);
      continue;
    }
    if (trie.end(i) != i + 1) rows[depth + 1] = pool.transitions(next);
    ++i;
  }
  std::vector<std::pair<std::string_view, TokenId>> residuals;
  for (const uint32_t node : completing) add_residuals(residuals, vocabulary, node, inside);
  auto table = std::make_shared<TerminalTable>();
  table->inside = TokenSet::from_mask(inside.data(), inside.size());
  table->residual = Trie::build(std::move(residuals));
  return table;
}

std::shared_ptr<const TerminalTable> build_counted_table(ExpressionPool& pool, const ExpressionPool::CountedRun& run,
                                                         const Vocabulary& vocabulary) {
  auto table = std::make_shared<TerminalTable>();
  if (pool.nullable(run.rest) || pool.nullable(run.unit)) {
    table->countable = false;
    return table;
  }
  const Trie& trie = vocabulary.trie();
  struct Place {
    ExprId state = 0;
    ExprId counter = 0;
    uint32_t units = 0;    // complete units so far
    bool in_unit = false;  // inside an unfinished unit
    bool left = false;     // behind the run, in R
  };
  std::vector<Place> places(trie.max_depth() + 1);
  // A part of a unit that is already counted: its completion is unit number 0.
  places[0] = {run.state, run.counter, 0, !run.in_run, false};
  const bool begins_inside_unit = !run.in_run;
  std::vector<std::vector<TokenId>> by_need;
  struct Completing {
    uint32_t node;
    uint32_t units;
  };
  std::vector<Completing> completing;
  std::vector<std::pair<uint32_t, TokenId>> exit_tokens;    // units, token
  std::vector<uint32_t> inside(vocabulary.num_words(), 0);  // of any kind: stays or ends within R
  std::vector<uint32_t> stays(vocabulary.num_words(), 0);
  std::vector<bool> first_unit(trie.max_depth() + 1, false);  // whether a place is in the unit that was begun before the token
  first_unit[0] = begins_inside_unit;
  for (uint32_t i = 0; i < trie.size();) {
    const uint32_t depth = trie.depth(i);
    const uint8_t byte = trie.byte(i);
    const Place from = places[depth];
    Place to;
    to.state = pool.step(from.state, byte);
    if (to.state == ExpressionPool::kEmpty) {
      i = trie.end(i);
      continue;
    }
    to.units = from.units;
    bool in_first = false;
    if (from.left) {
      to.left = true;
    } else {
      to.counter = pool.step(from.counter, byte);
      bool clear = true;  // whether it is plain what the byte belongs to
      if (to.counter == run.loop) {
        to.units += first_unit[depth] ? 0 : 1;
      } else if (to.counter != ExpressionPool::kEmpty) {
        to.in_unit = true;
        in_first = first_unit[depth];
        clear = pool.ends_with(to.counter, run.loop);
      } else {
        to.left = true;
        clear = !from.in_unit;  // only R may lead out, and only between units
      }
      if (!to.left && !from.in_unit) clear = clear && pool.step(run.rest, byte) == ExpressionPool::kEmpty;
      if (!clear) {  // units and R overlap, or a unit has no plain end: such a run has plain tables
        auto overlapping = std::make_shared<TerminalTable>();
        overlapping->countable = false;
        return overlapping;
      }
    }
    set_tokens(trie, trie.first_token(i), trie.first_token(i + 1), inside.data());
    if (to.left) {
      for (uint32_t t = trie.first_token(i); t < trie.first_token(i + 1); ++t) exit_tokens.emplace_back(to.units, trie.token(t));
      if (pool.nullable(to.state) && trie.end(i) != i + 1) completing.push_back({i, to.units});
    } else {
      const uint32_t need = to.units + (to.in_unit && !in_first ? 1 : 0);
      if (trie.first_token(i) != trie.first_token(i + 1)) {
        if (by_need.size() <= need) by_need.resize(need + 1);
        for (uint32_t t = trie.first_token(i); t < trie.first_token(i + 1); ++t) by_need[need].push_back(trie.token(t));
        set_tokens(trie, trie.first_token(i), trie.first_token(i + 1), stays.data());
      }
    }
    places[depth + 1] = to;
    first_unit[depth + 1] = in_first;
    ++i;
  }
  table->inside = TokenSet::from_mask(stays.data(), stays.size());
  table->max_need = by_need.empty() ? 0 : static_cast<uint32_t>(by_need.size() - 1);
  std::vector<uint32_t> up_to(vocabulary.num_words(), 0);
  for (uint32_t need = 0; need < TerminalTable::kNumBounds && need < table->max_need; ++need) {
    for (const TokenId token : by_need[need]) set_token(up_to.data(), token);
    table->at_most.push_back(TokenSet::from_mask(up_to.data(), up_to.size()));
  }
  table->by_need = std::move(by_need);

  std::vector<std::pair<std::string_view, TokenId>> all;
  uint32_t max_units = 0;
  for (const auto& [units, token] : exit_tokens) {
    table->exit_tokens.push_back(token);
    max_units = std::max(max_units, units);
  }
  for (const Completing& c : completing) max_units = std::max(max_units, c.units);
  for (uint32_t units = 0; units <= max_units; ++units) {
    TerminalTable::Exit exit;
    exit.units = units;
    for (const auto& [u, token] : exit_tokens) {
      if (u == units) exit.tokens.push_back(token);
    }
    std::vector<std::pair<std::string_view, TokenId>> residuals;
    for (const Completing& c : completing) {
      if (c.units == units) add_residuals(residuals, vocabulary, c.node, inside);
    }
    if (exit.tokens.empty() && residuals.empty()) continue;
    all.insert(all.end(), residuals.begin(), residuals.end());
    exit.residual = Trie::build(std::move(residuals));
    table->exits.push_back(std::move(exit));
  }
  table->residual = Trie::build(std::move(all));
  return table;
}

}  // namespace gd
