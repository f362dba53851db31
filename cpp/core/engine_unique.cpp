// The masks inside arrays of distinct items: the mask without distinctness, which every such place shares with plain arrays, less the
// tokens that lead to an item that is there already. Those are found by following the earlier items only.

#include <algorithm>

#include "engine.h"

namespace gd {

void Engine::add_watched(const Frame& watch, FrameId id, MaskPlan& plan) {
  const FrameId inner_id = automaton_->forget_key(watch.extra);
  add_apart(plan, [&](MaskPlan& own) {
    add_inner(id, inner_id, own);
    Uniqueness& uniqueness = automaton_->uniqueness();
    const Frame inner = automaton_->frame(watch.extra);
    const ConfigId config = automaton_->config_of(id);
    const ConfigId plain = automaton_->config_of(inner_id);
    if (inner.kind == FrameKind::kTerminal && uniqueness.is_plenty(watch)) {
      // Tokens that end the scalar: what comes behind it is the same for every text that equals no earlier item.
      std::vector<FrameId> behind;
      uniqueness.close_fresh(watch, behind);
      const ConfigId rest = automaton_->config_of(std::move(behind));
      const std::shared_ptr<const Counted> run = counted(inner.state, 0);
      const std::shared_ptr<const TerminalTable> ends = run != nullptr ? run->table : table(inner.state, 0);
      take_out_barred(*ends->residual, rest, automaton_->resume(inner.parent), own);
    }
    if (!is_settled(config, plain)) take_out_barred(vocabulary_->trie(), config, plain, own);
  });
}

// What the frame would allow by itself. With a limit: items that have to come behind the present one cost more where they are distinct, by
// as much as here, or a little more if the present one is what they would have been.
void Engine::add_inner(FrameId watched, FrameId inner, MaskPlan& plan) {
  constexpr Cost kSpare = 8;
  if (limit_ == kNoLimit || !automaton_->uniqueness().is_pending(automaton_->frame(watched))) return add_thread(inner, plan);
  const Cost distinct = distances_->of_frame(watched);
  const Cost plain = distances_->of_frame(inner);
  const Cost more = plus(distinct > plain ? distinct - plain : 0, kSpare);
  if (more > limit_) {
    is_narrowed_ = true;
    return;
  }
  limit_ -= more;
  add_thread(inner, plan);
  limit_ += more;
}

// Takes out the tokens of `trie` that `from` does not accept and `plain`, the same without distinctness, does. Those of which that
// depends on a forgotten text become doubtful.
void Engine::take_out_barred(const Trie& trie, ConfigId from, ConfigId plain, MaskPlan& plan) {
  if (trie.size() == 0 || plain == Automaton::kDead) return;
  if (from == Automaton::kDead) {
    for (uint32_t t = 0; t < trie.first_token(trie.size()); ++t) plan.take_out(trie.token(t));
    return;
  }
  struct Pair {
    ConfigId config = 0;
    ConfigId plain = 0;
    ByteSet bytes;
  };
  std::vector<Pair> places(trie.max_depth() + 1);
  places[0] = {from, plain, doubtful_bytes(from, plain)};
  for (uint32_t i = 0; i < trie.size();) {
    const Pair& place = places[trie.depth(i)];
    const uint8_t byte = trie.byte(i);
    const ConfigId next_plain = place.bytes.contains(byte) ? automaton_->mask_step(place.plain, byte) : Automaton::kDead;
    if (next_plain == Automaton::kDead) {
      i = trie.end(i);
      continue;
    }
    const ConfigId next = automaton_->mask_step(place.config, byte);
    const bool is_open = next != Automaton::kDead && is_doubtful(next);
    for (uint32_t t = trie.first_token(i); (is_open || next == Automaton::kDead) && t < trie.first_token(trie.end(i)); ++t) {
      if (is_open) {
        new_doubtful_.push_back(trie.token(t));
      } else {
        plan.take_out(trie.token(t));
      }
    }
    if (limit_ != kNoLimit && next != Automaton::kDead && !is_open && trie.first_token(i) < trie.first_token(i + 1)) {
      if (is_within(next)) {
        note_unknown(next, trie, i);
      } else {
        for (uint32_t t = trie.first_token(i); t < trie.first_token(i + 1); ++t) plan.take_out(trie.token(t));
      }
    }
    if (next == Automaton::kDead || is_open || is_settled(next, next_plain)) {
      i = trie.end(i);
      continue;
    }
    if (trie.end(i) != i + 1) places[trie.depth(i) + 1] = {next, next_plain, doubtful_bytes(next, next_plain)};
    ++i;
  }
}

// Whether no thread has been dropped for the sake of distinctness, or can be before the scalar or key that it is in has ended.
bool Engine::is_settled(ConfigId c, ConfigId plain) {
  const std::span<const FrameId> threads = automaton_->threads(c);
  if (threads.size() != automaton_->threads(plain).size()) return false;
  const std::vector<FrameId> ids(threads.begin(), threads.end());
  return std::all_of(ids.begin(), ids.end(), [&](FrameId id) {
    const Frame f = automaton_->frame(id);
    return f.kind != FrameKind::kWatched || automaton_->uniqueness().is_free(f);
  });
}

bool Engine::is_doubtful(ConfigId c) {
  const std::span<const FrameId> threads = automaton_->threads(c);
  return std::any_of(threads.begin(), threads.end(), [&](FrameId id) {
    const Frame& f = automaton_->frame(id);
    return f.kind == FrameKind::kWatched && automaton_->uniqueness().is_doubtful(f);
  });
}

// The bytes behind which a thread may be dropped.
ByteSet Engine::doubtful_bytes(ConfigId c, ConfigId plain) {
  const std::span<const FrameId> threads = automaton_->threads(c);
  if (threads.size() != automaton_->threads(plain).size()) return automaton_->first_bytes(plain);
  ByteSet bytes;
  for (const FrameId id : std::vector<FrameId>(threads.begin(), threads.end())) {
    const Frame f = automaton_->frame(id);
    if (f.kind != FrameKind::kWatched || automaton_->frame(f.extra).kind != FrameKind::kTerminal) {
      return automaton_->first_bytes(plain);
    }
    bytes.merge(automaton_->uniqueness().doubtful_bytes(f));
  }
  return bytes;
}

}  // namespace gd
