#include "engine.h"

#include <algorithm>
#include <cstring>

namespace gd {
namespace {

ByteSet bytes_of(std::string_view text) {
  ByteSet set;
  for (const char c : text) set.insert(static_cast<uint8_t>(c));
  return set;
}

const ByteSet kWhitespace = bytes_of(" \t\n\r");
const ByteSet kPunctuation = bytes_of("{}[],:");

}  // namespace

Engine::Engine(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const Vocabulary> vocabulary,
               std::unique_ptr<Automaton> automaton)
    : grammar_(std::move(grammar)),
      vocabulary_(std::move(vocabulary)),
      automaton_(std::move(automaton)),
      stack_(vocabulary_->trie().max_depth() + 1) {}

ConfigId Engine::advance(ConfigId from, std::string_view bytes, size_t* num_accepted) {
  const std::lock_guard lock(mutex_);
  ConfigId c = from;
  size_t n = 0;
  for (; n < bytes.size() && c != Automaton::kDead; ++n) {
    const ConfigId next = automaton_->step(c, static_cast<uint8_t>(bytes[n]));
    if (next == Automaton::kDead) {
      c = next;
      break;
    }
    c = next;
  }
  if (num_accepted != nullptr) *num_accepted = n;
  return c;
}

bool Engine::is_accepting(ConfigId c) {
  const std::lock_guard lock(mutex_);
  return automaton_->is_accepting(c);
}

ByteSet Engine::allowed_bytes(ConfigId c) {
  const std::lock_guard lock(mutex_);
  ByteSet set;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    if (automaton_->step(c, static_cast<uint8_t>(byte)) != Automaton::kDead) set.insert(static_cast<uint8_t>(byte));
  }
  return set;
}

void Engine::fill(ConfigId c, uint32_t* mask) {
  const std::lock_guard lock(mutex_);
  const ConfigId alike = automaton_->forget_texts(c);
  fill_remembered(alike, mask);
  if (alike == c) return;
  check_doubtful(c, alike, mask);
  if (!automaton_->is_inside_scalars(c)) check_repeats(c, mask);
}

void Engine::fill_remembered(ConfigId c, uint32_t* mask) {
  const size_t num_words = vocabulary_->num_words();
  const auto known = memo_.find(c);
  if (known != memo_.end()) {
    if (!known->second.copy_to(mask, num_words)) {
      std::memset(mask, 0, num_words * 4);
      known->second.add_to(mask);
    }
    return;
  }
  std::memset(mask, 0, num_words * 4);
  compute(c, mask);
  if (memo_limit_ == 0) return;
  TokenSet tokens = TokenSet::from_mask(mask, num_words);
  const size_t bytes = tokens.memory_bytes() + 64;
  if (memo_bytes_ + bytes > memo_limit_) {  // start over: cheaper than keeping an order of use
    memo_.clear();
    memo_bytes_ = 0;
    if (bytes > memo_limit_) return;
  }
  memo_bytes_ += bytes;
  memo_.emplace(c, std::move(tokens));
}

void Engine::compute(ConfigId c, uint32_t* mask) {
  const std::span<const FrameId> threads = automaton_->threads(c);
  std::vector<TokenId> doubtful;
  for (const FrameId f : std::vector<FrameId>(threads.begin(), threads.end())) add_thread(f, mask, doubtful);
  if (!doubtful.empty()) doubtful_[c] = std::move(doubtful);
  check_repeats(c, mask);
}

// mask_step takes a key that it has not followed letter by letter for a new one, and an item likewise, so it can let through a token
// that writes the same new key or item twice. A token that repeats a key has at least three quotes. There are few such tokens, and
// hardly any is ever allowed.
void Engine::check_repeats(ConfigId c, uint32_t* mask) {
  check_tokens(vocabulary_->many_quotes(), c, mask);
  if (automaton_->has_unique_arrays()) check_tokens(vocabulary_->item_pairs(), c, mask);
  check_doubtful(c, c, mask);
}

// The tokens whose fate depends on a text that `alike`, whose mask is at hand, has forgotten.
void Engine::check_doubtful(ConfigId c, ConfigId alike, uint32_t* mask) {
  const auto doubtful = doubtful_.find(alike);
  if (doubtful != doubtful_.end()) check_tokens(std::vector<TokenId>(doubtful->second), c, mask);
}

void Engine::check_tokens(const std::vector<TokenId>& tokens, ConfigId c, uint32_t* mask) {
  for (const TokenId token : tokens) {
    if (!has_token(mask, token)) continue;
    ConfigId at = c;
    for (const char byte : vocabulary_->text(token)) {
      at = automaton_->step(at, static_cast<uint8_t>(byte));
      if (at == Automaton::kDead) break;
    }
    if (at == Automaton::kDead) clear_token(mask, token);
  }
}

void Engine::add_thread(FrameId id, uint32_t* mask, std::vector<TokenId>& doubtful) {
  const Frame f = automaton_->frame(id);
  switch (f.kind) {
    case FrameKind::kTerminal:
      add_terminal(f.state, f.parent, mask);
      return;
    case FrameKind::kKey:
      add_key(id, mask);
      return;
    case FrameKind::kWatched:
      add_watched(f, id, mask, doubtful);
      return;
    case FrameKind::kMemberBefore:
      add_place(f, grammar_->key_separator.size() - 1, mask);
      return;
    case FrameKind::kMemberNext:
    case FrameKind::kItemNext:
      add_place(f, grammar_->item_separator.size() - 1, mask);
      return;
    default:
      add_place(f, 0, mask);
      return;
  }
}

// A place where a run of whitespace may stand, and then a value, a key, or punctuation. The run is looked up in the vocabulary; what comes
// behind it is asked of the place without any run.
void Engine::add_place(const Frame& f, size_t tail_size, uint32_t* mask) {
  if (f.sub < tail_size) {  // the literal tail of a separator comes first
    walk(vocabulary_->trie(), automaton_->config_of(automaton_->intern(f)), mask, nullptr);
    return;
  }
  const WhitespaceRuns& runs = vocabulary_->whitespace_runs();
  const uint32_t used = f.sub - static_cast<uint32_t>(tail_size);
  const uint32_t run = grammar_->max_whitespace == kNone ? kNone : grammar_->max_whitespace - used;
  for (size_t n = 1; n < runs.pure.size() && n <= run; ++n) {
    for (const TokenId token : runs.pure[n]) set_token(mask, token);
  }
  Frame place = f;
  place.sub = static_cast<uint32_t>(tail_size);
  ByteSet walked = kPunctuation;
  switch (f.kind) {
    case FrameKind::kRootBefore:
      add_value(grammar_->root, {FrameKind::kRootValue, 0, 0, 0, 0}, run, mask);
      break;
    case FrameKind::kMemberBefore:
      add_value(f.extra, {FrameKind::kMemberValue, 0, f.state, 0, f.parent}, run, mask);
      break;
    case FrameKind::kItemNext:
    case FrameKind::kArrayOpen: {
      Containers& containers = automaton_->containers();
      const std::vector<Containers::Entry> entries = containers.entries(f.state, containers.item_class(f.state));
      for (const Containers::Entry& entry : entries) {
        add_value(entry.value, {FrameKind::kItemValue, 0, entry.next, 0, f.parent}, run, mask);
      }
      break;
    }
    case FrameKind::kObjectOpen:
    case FrameKind::kMemberNext:
      if (!add_first_keys(place, run, mask)) walked.insert('"');
      break;
    default:
      break;
  }
  const ConfigId config = automaton_->config_of(automaton_->intern(place));
  for_each_trie(run, [&](const Trie& trie) { walk(trie, config, mask, &walked); });
}

// Scalars by their tables: with the run of whitespace in front, so that these tables serve every place alike.
void Engine::add_value(NodeId node, const Frame& waiting, uint32_t run, uint32_t* mask) {
  const Automaton::Starts& starts = automaton_->starts(node);
  if (starts.terminals.empty()) return;
  const ConfigId rest = automaton_->resume(automaton_->intern(waiting));
  for (const ExprId e : starts.terminals) {
    add_table(run == 0 ? e : automaton_->expressions().concat(whitespace_run(run), e), rest, mask);
  }
}

// The expression of at most `run` bytes of whitespace.
ExprId Engine::whitespace_run(uint32_t run) {
  return automaton_->expressions().repeat(automaton_->expressions().make_class(kWhitespace), 0, run);
}

void Engine::add_terminal(ExprId e, FrameId parent, uint32_t* mask) { add_table(e, automaton_->resume(parent), mask); }

// ORs in the tokens allowed in terminal state `e`, when `rest` is what follows the terminal.
void Engine::add_table(ExprId e, ConfigId rest, uint32_t* mask) {
  const ExpressionPool::CountedRun* run = nullptr;
  const TerminalTable* counted = counted_table(e, run);
  if (counted != nullptr) {
    add_counted(*counted, *run, e, rest, mask);
    return;
  }
  const TerminalTable& t = table(e);
  t.inside.add_to(mask);
  walk(t.residual, rest, mask, nullptr);
}

void Engine::add_counted(const TerminalTable& t, const ExpressionPool::CountedRun& run, ExprId e, ConfigId rest, uint32_t* mask) {
  // Tokens that need up to `sure` units can be completed within the bound; those that need more are tried one by one.
  const uint32_t sure = run.maximum == kNone ? kNone : run.maximum - run.slack;
  if (sure >= t.max_need) {
    t.inside.add_to(mask);
  } else if (sure < t.at_most.size()) {
    t.at_most[sure].add_to(mask);
  } else {
    for (uint32_t need = 0; need <= sure; ++need) {
      if (need + 1 == t.at_most.size()) t.at_most[need].add_to(mask);
      if (need < t.at_most.size()) continue;
      for (const TokenId token : t.by_need[need]) set_token(mask, token);
    }
  }
  if (sure < t.max_need) {
    ExpressionPool& pool = automaton_->expressions();
    for (uint32_t need = sure + 1; need <= run.maximum && need <= t.max_need; ++need) {
      for (const TokenId token : t.by_need[need]) {
        ExprId state = e;
        for (const char byte : vocabulary_->text(token)) state = pool.step(state, static_cast<uint8_t>(byte));
        if (state != ExpressionPool::kEmpty) set_token(mask, token);
      }
    }
  }
  const uint32_t max_units = t.exits.empty() ? 0 : t.exits.back().units;
  if (run.minimum == 0 && run.maximum >= max_units) {
    for (const TokenId token : t.exit_tokens) set_token(mask, token);
    walk(t.residual, rest, mask, nullptr);
    return;
  }
  for (const TerminalTable::Exit& exit : t.exits) {
    if (exit.units < run.minimum || exit.units > run.maximum) continue;
    for (const TokenId token : exit.tokens) set_token(mask, token);
    walk(exit.residual, rest, mask, nullptr);
  }
}

const TerminalTable& Engine::table(ExprId e) {
  std::shared_ptr<const TerminalTable>& entry = tables_[e];
  if (entry == nullptr) {
    const Hash128 key = automaton_->expressions().content_hash(e);
    entry = vocabulary_->find_table(key);
    if (entry == nullptr) entry = vocabulary_->add_table(key, build_table(automaton_->expressions(), e, *vocabulary_));
  }
  return *entry;
}

// The table of the counted run that `e` is in, or null if it is in none that can be counted.
const TerminalTable* Engine::counted_table(ExprId e, const ExpressionPool::CountedRun*& run) {
  ExpressionPool& pool = automaton_->expressions();
  auto found = counted_.find(e);
  if (found == counted_.end()) {
    auto entry = std::make_pair(pool.counted_run(e), std::shared_ptr<const TerminalTable>());
    // Near the limit of an intersection too many tokens would have to be tried: its states have tables of their own there.
    constexpr uint32_t kFarEnough = 16;
    if (entry.first.slack > 0 && entry.first.maximum < entry.first.slack + kFarEnough) entry.first.found = false;
    if (entry.first.found) {
      Hash128 key = pool.content_hash(entry.first.state);
      key.feed(pool.content_hash(entry.first.counter));
      key.feed(pool.content_hash(entry.first.rest));
      key.feed(uint64_t{0xc0047edULL});
      entry.second = vocabulary_->find_table(key);
      if (entry.second == nullptr) {
        entry.second = vocabulary_->add_table(key, build_counted_table(pool, entry.first, *vocabulary_));
      }
    }
    found = counted_.emplace(e, std::move(entry)).first;
  }
  const auto& [counted, table] = found->second;
  run = &counted;
  return table != nullptr && table->countable ? table.get() : nullptr;
}

// Joint descent of trie and automaton: sets the tokens of `trie` that `from` accepts.
void Engine::walk(const Trie& trie, ConfigId from, uint32_t* mask, const ByteSet* first_bytes) {
  if (from == Automaton::kDead || trie.size() == 0) return;
  if (stack_.size() < trie.max_depth() + 1) stack_.resize(trie.max_depth() + 1);
  stack_[0] = {from, automaton_->first_bytes(from)};
  if (first_bytes != nullptr) stack_[0].bytes.intersect(*first_bytes);
  for (uint32_t i = 0; i < trie.size();) {
    const uint32_t depth = trie.depth(i);
    const uint8_t byte = trie.byte(i);
    if (!stack_[depth].bytes.contains(byte)) {
      i = trie.end(i);
      continue;
    }
    const ConfigId next = automaton_->mask_step(stack_[depth].config, byte);
    if (next == Automaton::kDead) {
      i = trie.end(i);
      continue;
    }
    set_tokens(trie, trie.first_token(i), trie.first_token(i + 1), mask);
    if (trie.end(i) != i + 1) stack_[depth + 1] = {next, automaton_->first_bytes(next)};
    ++i;
  }
}

std::vector<Engine::Expectation> Engine::expectations(ConfigId c) {
  const std::lock_guard lock(mutex_);
  constexpr size_t kMaxNames = 20;
  Containers& containers = automaton_->containers();
  std::vector<Expectation> result;
  const std::span<const FrameId> threads = automaton_->threads(c);
  for (const FrameId id : std::vector<FrameId>(threads.begin(), threads.end())) {
    Frame f = automaton_->frame(id);
    if (f.kind == FrameKind::kWatched) f = automaton_->frame(f.extra);
    Expectation e;
    e.kind = f.kind;
    e.node = kNone;
    switch (f.kind) {
      case FrameKind::kTerminal:
      case FrameKind::kRootBefore:
      case FrameKind::kRootAfter:
      case FrameKind::kRootValue:
        break;
      case FrameKind::kColon:
      case FrameKind::kMemberBefore:
        e.node = f.extra;
        break;
      default:
        e.node = containers[f.state].node;
        break;
    }
    if (f.kind == FrameKind::kObjectOpen || f.kind == FrameKind::kMemberNext || f.kind == FrameKind::kKey ||
        f.kind == FrameKind::kMemberAfter) {
      const Containers::Menu& menu = containers.menu(f.state);
      const std::vector<std::string_view>& names = containers.sorted_names(e.node);
      uint32_t low = 0;
      uint32_t high = static_cast<uint32_t>(names.size());
      e.other_names = !menu.patterns.empty();
      if (f.kind == FrameKind::kKey) {
        const KeyPosition& k = automaton_->key(f.extra);
        low = k.low;
        high = k.high;
        e.other_names = k.patterns != 0;
      }
      for (uint32_t s = low; s < high && e.names.size() < kMaxNames; ++s) {
        if ((menu.names[s / 64] >> (s % 64)) & 1) e.names.emplace_back(names[s]);
      }
    }
    switch (f.kind) {
      case FrameKind::kObjectOpen:
      case FrameKind::kMemberAfter:
      case FrameKind::kArrayOpen:
      case FrameKind::kItemAfter:
        e.can_close = containers.can_close(f.state);
        break;
      default:
        break;
    }
    result.push_back(std::move(e));
  }
  return result;
}

void Engine::set_memo_limit(size_t bytes) {
  const std::lock_guard lock(mutex_);
  memo_limit_ = bytes;
  memo_.clear();
  memo_bytes_ = 0;
}

bool Engine::is_full() {
  constexpr size_t kMostBytes = size_t{96} << 20;
  const std::lock_guard lock(mutex_);
  return automaton_->is_nearly_full() || automaton_->memory_bytes() + name_table_bytes_ > kMostBytes;
}

size_t Engine::memory_bytes() {
  const std::lock_guard lock(mutex_);
  return automaton_->memory_bytes() + name_table_bytes_ + memo_bytes_;
}

}  // namespace gd
