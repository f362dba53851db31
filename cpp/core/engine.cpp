#include "engine.h"

#include <algorithm>

namespace gd {
namespace {

ByteSet bytes_of(std::string_view text) {
  ByteSet set;
  for (const char c : text) set.insert(static_cast<uint8_t>(c));
  return set;
}

const ByteSet kPunctuation = bytes_of("{}[],:");

}  // namespace

Engine::Engine(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const Vocabulary> vocabulary,
               std::unique_ptr<Automaton> automaton)
    : grammar_(std::move(grammar)),
      vocabulary_(std::move(vocabulary)),
      automaton_(std::move(automaton)),
      stack_(vocabulary_->trie().max_depth() + 1) {}

Engine::~Engine() = default;

ConfigId Engine::advance(ConfigId from, std::string_view bytes, size_t* num_accepted) {
  const std::lock_guard lock(mutex_);
  begin_work();
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
  begin_work();
  ByteSet set;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    if (automaton_->step(c, static_cast<uint8_t>(byte)) != Automaton::kDead) set.insert(static_cast<uint8_t>(byte));
  }
  return set;
}

void Engine::fill(ConfigId c, uint32_t* mask) {
  const std::lock_guard lock(mutex_);
  begin_work();
  fill_plain(c, automaton_->forget_texts(c), mask);
}

// `alike`: c without the texts that make no difference to its mask.
void Engine::fill_plain(ConfigId c, ConfigId alike, uint32_t* mask) {
  fill_remembered(alike, mask);
  if (alike == c) return;
  plan_.clear();
  check_doubtful(c, alike, mask, plan_);
  if (!automaton_->is_inside_scalars(c)) check_repeats(c, mask, plan_);
}

void Engine::fill_remembered(ConfigId c, uint32_t* mask) {
  const size_t num_words = vocabulary_->num_words();
  if (memo_.write(c, mask, num_words)) return;
  plan_.clear();
  new_doubtful_.clear();
  const std::span<const FrameId> threads = automaton_->threads(c);
  for (const FrameId f : std::vector<FrameId>(threads.begin(), threads.end())) add_thread(f, plan_);
  plan_.write(mask, num_words);
  check_repeats(c, mask, plan_);
  if (!new_doubtful_.empty()) {
    check_tokens(new_doubtful_, c, mask, plan_);
    doubtful_[c] = new_doubtful_;
  }
  remember(memo_, c, mask);
}

// The mask that has just been made of plan_.
void Engine::remember(MaskMemo& memo, MaskMemo::Key key, const uint32_t* mask) {
  if (budget_.limit == 0) return;
  const size_t own_bytes = plan_.settle(mask, vocabulary_->num_words());
  const size_t cost = MaskMemo::cost(plan_) + own_bytes;
  if (budget_.make_room(cost, [&] { age(); })) memo.add(key, plan_, cost);
}

void Engine::begin_work() { automaton_->work().begin("max_mask_seconds", automaton_->limits().max_mask_seconds); }

void Engine::age() {
  memo_.age();
  tables_.age();
  counted_.age();
  name_tables_.age();
  tokens_measure_.scalars.age();
  bytes_measure_.scalars.age();
  tokens_measure_.narrowed.age();
  bytes_measure_.narrowed.age();
}

// mask_step takes a key that it has not followed letter by letter for a new one, and an item likewise, so it can let through a token
// that writes the same new key or item twice. Hardly any token looks as if it might.
void Engine::check_repeats(ConfigId c, uint32_t* mask, MaskPlan& plan) {
  check_tokens(vocabulary_->twice_a_key(), c, mask, plan);
  if (!automaton_->has_unique_arrays()) return;
  const std::span<const FrameId> threads = automaton_->threads(c);
  const bool is_watched =
      std::any_of(threads.begin(), threads.end(), [&](FrameId f) { return automaton_->frame(f).kind == FrameKind::kWatched; });
  check_tokens(is_watched ? vocabulary_->item_pairs() : vocabulary_->opened_item_pairs(), c, mask, plan);
}

// The tokens whose fate depends on a text that `alike`, whose mask is at hand, has forgotten.
void Engine::check_doubtful(ConfigId c, ConfigId alike, uint32_t* mask, MaskPlan& plan) {
  const auto doubtful = doubtful_.find(alike);
  if (doubtful != doubtful_.end()) check_tokens(std::vector<TokenId>(doubtful->second), c, mask, plan);
}

void Engine::check_tokens(const std::vector<TokenId>& tokens, ConfigId c, uint32_t* mask, MaskPlan& plan) {
  for (const TokenId token : tokens) {
    if (!has_token(mask, token)) continue;
    ConfigId at = c;
    for (const char byte : vocabulary_->text(token)) {
      at = automaton_->step(at, static_cast<uint8_t>(byte));
      if (at == Automaton::kDead) break;
    }
    if (at != Automaton::kDead && is_within(at)) continue;
    clear_token(mask, token);
    plan.take_out(token);
  }
}

void Engine::add_thread(FrameId id, MaskPlan& plan) {
  const Frame f = automaton_->frame(id);
  switch (f.kind) {
    case FrameKind::kTerminal:
      add_table(f.state, 0, automaton_->resume(f.parent), plan);
      return;
    case FrameKind::kKey:
      add_key(id, plan);
      return;
    case FrameKind::kWatched:
      add_watched(f, id, plan);
      return;
    case FrameKind::kPart:
      add_part(f, plan);
      return;
    case FrameKind::kRootAfter:
      if (grammar_->nodes[grammar_->root].kind != Node::kChain) add_place(f, 0, plan);
      return;
    case FrameKind::kMemberBefore:
      add_place(f, grammar_->key_separator.size() - 1, plan);
      return;
    case FrameKind::kMemberNext:
    case FrameKind::kItemNext:
      add_place(f, grammar_->item_separator.size() - 1, plan);
      return;
    default:
      add_place(f, 0, plan);
      return;
  }
}

// A place where a run of whitespace may stand, and then a value, a key, or punctuation. The run is looked up in the vocabulary; what comes
// behind it is asked of the place without any run.
void Engine::add_place(const Frame& f, size_t tail_size, MaskPlan& plan) {
  if (f.sub < tail_size) {  // the literal tail of a separator comes first
    walk(vocabulary_->trie(), automaton_->config_of(automaton_->intern(f)), plan, nullptr);
    return;
  }
  const uint32_t used = f.sub - static_cast<uint32_t>(tail_size);
  const uint32_t run = grammar_->max_whitespace == kNone ? kNone : grammar_->max_whitespace - used;
  Frame place = f;
  place.sub = static_cast<uint32_t>(tail_size);
  ByteSet walked = kPunctuation;
  switch (f.kind) {
    case FrameKind::kRootBefore:
      add_value(grammar_->root, {FrameKind::kRootValue, 0, 0, 0, 0}, run, plan);
      break;
    case FrameKind::kMemberBefore:
      add_value(f.extra, {FrameKind::kMemberValue, 0, f.state, 0, f.parent}, run, plan);
      break;
    case FrameKind::kItemNext:
    case FrameKind::kArrayOpen: {
      Containers& containers = automaton_->containers();
      const std::vector<Containers::Entry> entries = containers.entries(f.state, containers.item_class(f.state));
      for (const Containers::Entry& entry : entries) {
        add_value(entry.value, {FrameKind::kItemValue, 0, entry.next, 0, f.parent}, run, plan);
      }
      break;
    }
    case FrameKind::kObjectOpen:
    case FrameKind::kMemberNext:
      if (!add_first_keys(place, run, plan)) walked.insert('"');
      break;
    default:
      break;
  }
  add_whitespace(f, run, plan);  // behind the keys, which take tokens out
  const ConfigId config = automaton_->config_of(automaton_->intern(place));
  for (const Trie* trie : tries(run)) walk(*trie, config, plan, &walked);
}

// The tokens that are nothing but a run of whitespace of at most `run` bytes.
void Engine::add_whitespace(const Frame& f, uint32_t run, MaskPlan& plan) {
  if (limit_ == kNoLimit) {
    const std::shared_ptr<const TokenSet> whitespace = vocabulary_->whitespace_up_to(run);
    plan.add(whitespace, *whitespace);
    return;
  }
  const std::vector<std::vector<TokenId>>& pure = vocabulary_->whitespace_runs().pure;
  for (size_t n = 1; n < pure.size() && n <= run; ++n) {
    Frame waited = f;
    if (run != kNone) waited.sub += static_cast<uint32_t>(n);
    if (!is_within(automaton_->config_of(automaton_->intern(waited)))) continue;
    for (const TokenId token : pure[n]) plan.set(token);
  }
}

// Scalars by their tables: with the run of whitespace in front, so that these tables serve every place alike.
void Engine::add_value(NodeId node, const Frame& waiting, uint32_t run, MaskPlan& plan) {
  const Automaton::Starts& starts = automaton_->starts(node);
  if (starts.terminals.empty()) return;
  const ConfigId rest = automaton_->resume(automaton_->intern(waiting));
  for (const ExprId e : starts.terminals) add_table(e, run, rest, plan);
}

// A place before a part of a chain, where no whitespace may stand.
void Engine::add_part(const Frame& f, MaskPlan& plan) {
  if (!add_part_scalars(automaton_->part_of(f), automaton_->behind_part(f), plan)) return;
  static const ByteSet kBrackets = bytes_of("{[");
  walk(vocabulary_->trie(), automaton_->config_of(automaton_->intern(f)), plan, &kBrackets);
}

// The tables of the scalars that `node` may begin with; returns whether an object or array may begin as well.
bool Engine::add_part_scalars(NodeId node, const Frame& waiting, MaskPlan& plan) {
  add_value(node, waiting, 0, plan);
  const Automaton::Starts& starts = automaton_->starts(node);
  bool has_containers = !starts.objects.empty() || !starts.arrays.empty();
  for (const NodeId chain : starts.chains) {
    Frame part{FrameKind::kPart, 0, chain, 0, automaton_->intern(waiting)};
    for (bool more = true; more; ++part.extra) {
      more = automaton_->may_skip_part(part);
      if (add_part_scalars(automaton_->part_of(part), automaton_->behind_part(part), plan)) has_containers = true;
    }
  }
  return has_containers;
}

uint32_t Engine::longest_run(uint32_t run) const {
  return std::min<uint32_t>(run, static_cast<uint32_t>(vocabulary_->whitespace_runs().rests.size()));
}

std::vector<const Trie*> Engine::tries(uint32_t run) const {
  std::vector<const Trie*> result{&vocabulary_->trie()};
  const WhitespaceRuns& runs = vocabulary_->whitespace_runs();
  if (run >= runs.rests.size()) {
    result.push_back(&runs.all_rests);
  } else {
    for (uint32_t n = 1; n <= run; ++n) result.push_back(&runs.rests[n]);
  }
  return result;
}

void Engine::add_table(ExprId e, uint32_t run, ConfigId rest, MaskPlan& plan) {
  if (limit_ != kNoLimit) {
    const Cost behind = distances_->of_config(rest);
    const Cost left = behind > limit_ ? 0 : limit_ - behind;
    if (behind > limit_ || distances_->farthest_scalar(e) > left) {
      is_narrowed_ = true;
      if (behind <= limit_) add_scalar_within(e, run, left, plan);
      walk(*table(e, run)->residual, rest, plan, nullptr);
      return;
    }
  }
  if (const std::shared_ptr<const Counted> c = counted(e, run); c != nullptr) {
    add_counted(c->table, c->run, rest, plan);
    return;
  }
  const std::shared_ptr<const TerminalTable> t = table(e, run);
  if (t->cover != nullptr) plan.add(t->cover, t->cover->tokens);
  plan.add(t, t->inside);
  walk(*t->residual, rest, plan, nullptr);
}

void Engine::add_counted(const std::shared_ptr<const TerminalTable>& table, const ExpressionPool::CountedRun& run, ConfigId rest,
                         MaskPlan& plan) {
  const TerminalTable& t = *table;
  if (t.cover != nullptr) {
    const uint32_t sure = run.maximum == kNone ? kNone : run.maximum - t.missing;
    plan.add(t.cover, t.cover->tokens, vocabulary_->plain_up_to(sure));
    if (t.missing > 0 && sure != kNone) {
      const std::vector<std::vector<TokenId>>& by_length = vocabulary_->plain_by_length();
      for (size_t length = sure + 1; length < by_length.size() && length <= run.maximum; ++length) {
        for (const TokenId token : by_length[length]) {
          if (!has_token(t.cover->tokens.words().data(), token)) continue;
          if (units_needed(automaton_->expressions(), run, vocabulary_->text(token)) <= run.maximum) plan.set(token);
        }
      }
    }
  }
  plan.add(table, t.by_length, vocabulary_->plain_up_to(run.maximum));
  if (t.by_need.size() <= size_t{run.maximum} + 1) {
    plan.add(table, t.inside);
  } else {
    for (uint32_t need = 0; need <= run.maximum; ++need) {
      for (const TokenId token : t.by_need[need]) plan.set(token);
    }
  }
  const uint32_t max_units = t.exits.empty() ? 0 : t.exits.back().units;
  if (run.minimum == 0 && run.maximum >= max_units) {
    for (const TokenId token : t.exit_tokens) plan.set(token);
    walk(*t.residual, rest, plan, nullptr);
    return;
  }
  for (const TerminalTable::Exit& exit : t.exits) {
    if (exit.units < run.minimum || exit.units > run.maximum) continue;
    for (const TokenId token : exit.tokens) plan.set(token);
    walk(exit.residual, rest, plan, nullptr);
  }
}

std::shared_ptr<const TerminalTable> Engine::table(ExprId e, uint32_t run) {
  run = longest_run(run);
  const uint64_t id = (uint64_t{e} << 32) | run;
  if (const auto* known = tables_.find(id); known != nullptr) return *known;
  Hash128 key = automaton_->expressions().content_hash(e);
  key.feed(run);
  std::shared_ptr<const TerminalTable> table = vocabulary_->find_table(key);
  if (table == nullptr) {
    table = vocabulary_->add_table(key, build_table(automaton_->expressions(), e, *vocabulary_, tries(run)));
  }
  remember(tables_, id, table, table->memory_bytes());
  return table;
}

std::shared_ptr<const Engine::Counted> Engine::counted(ExprId e, uint32_t run) {
  run = longest_run(run);
  const uint64_t id = (uint64_t{e} << 32) | run;
  if (const auto* known = counted_.find(id); known != nullptr) return *known;
  ExpressionPool& pool = automaton_->expressions();
  auto result = std::make_shared<Counted>();
  result->run = pool.counted_run(e);
  if (result->run.found) {
    Hash128 key = pool.content_hash(result->run.state);
    key.feed(pool.content_hash(result->run.counter));
    key.feed(pool.content_hash(result->run.rest));
    key.feed(uint64_t{0xc0047edULL});
    key.feed(run);
    result->table = vocabulary_->find_table(key);
    if (result->table == nullptr) {
      result->table = vocabulary_->add_table(key, build_counted_table(pool, result->run, *vocabulary_, tries(run)));
    }
  }
  if (result->table == nullptr || !result->table->countable) result = nullptr;
  const std::shared_ptr<const Counted> counted = result;
  remember(counted_, id, counted, counted == nullptr ? 0 : counted->table->memory_bytes());
  return counted;
}

void Engine::walk(const Trie& trie, ConfigId from, MaskPlan& plan, const ByteSet* first_bytes) {
  if (from == Automaton::kDead || trie.size() == 0) return;
  if (stack_.size() < trie.max_depth() + 1) stack_.resize(trie.max_depth() + 1);
  stack_[0] = {from, automaton_->first_bytes(from)};
  if (first_bytes != nullptr) stack_[0].bytes.intersect(*first_bytes);
  trie.for_each_root(ByteSet(stack_[0].bytes), [&](uint32_t begin, uint32_t end) { walk_range(trie, begin, end, 0, plan); });
}

void Engine::walk_below(const Trie& trie, uint32_t node, ConfigId from, MaskPlan& plan) {
  if (from == Automaton::kDead || trie.end(node) == node + 1) return;
  if (stack_.size() < trie.max_depth() + 1) stack_.resize(trie.max_depth() + 1);
  stack_[0] = {from, automaton_->first_bytes(from)};
  walk_range(trie, node + 1, trie.end(node), trie.depth(node) + 1, plan);
}

// Nodes [begin, end), whose first has depth `top`: from the place on top of the stack.
void Engine::walk_range(const Trie& trie, uint32_t begin, uint32_t end, uint32_t top, MaskPlan& plan) {
  for (uint32_t i = begin; i < end;) {
    const uint32_t depth = trie.depth(i) - top;
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
    if (trie.first_token(i) < trie.first_token(i + 1) && is_within(next)) {
      if (limit_ != kNoLimit) note_unknown(next, trie, i);
      for (uint32_t t = trie.first_token(i); t < trie.first_token(i + 1); ++t) plan.set(trie.token(t));
    }
    if (trie.end(i) != i + 1) stack_[depth + 1] = {next, automaton_->first_bytes(next)};
    ++i;
  }
}

std::vector<Engine::Expectation> Engine::expectations(ConfigId c) {
  const std::lock_guard lock(mutex_);
  begin_work();
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
        if (const Frame& waiting = automaton_->frame(f.parent); waiting.kind == FrameKind::kPart) {
          e.node = waiting.state;
        } else if (waiting.kind != FrameKind::kRootValue) {
          e.node = containers[waiting.state].node;
        }
        break;
      case FrameKind::kRootBefore:
      case FrameKind::kRootAfter:
      case FrameKind::kRootValue:
        break;
      case FrameKind::kPart:
        e.node = f.state;
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
      const std::vector<std::string_view>& names = containers.sorted_names(e.node);
      uint32_t low = 0;
      uint32_t high = static_cast<uint32_t>(names.size());
      e.other_names = !containers.pattern_menu(f.state).patterns.empty();
      if (f.kind == FrameKind::kKey) {
        const KeyPosition& k = automaton_->key(f.extra);
        low = k.low;
        high = k.high;
        e.other_names = k.patterns != 0;
      }
      for (uint32_t s = low; s < high && e.names.size() < kMaxNames; ++s) {
        if (containers.any_name_may_come(f.state, s, s + 1)) e.names.emplace_back(names[s]);
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
  age();
  age();
  budget_ = {bytes};
}

bool Engine::is_full() {
  const std::lock_guard lock(mutex_);
  const size_t most_bytes = automaton_->limits().max_memory_bytes / 8 * 3;  // of the limit: 96 MiB by default
  return automaton_->is_nearly_full() || automaton_->memory_bytes() > most_bytes;
}

size_t Engine::memory_bytes() {
  const std::lock_guard lock(mutex_);
  const size_t completions = (completion_ == nullptr ? 0 : completion_->memory_bytes()) +
                             (byte_completion_ == nullptr ? 0 : byte_completion_->memory_bytes());
  return automaton_->memory_bytes() + budget_.bytes() + completions +
         (tokens_measure_.harmless.size() + bytes_measure_.harmless.size()) * 32;
}

}  // namespace gd
