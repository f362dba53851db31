#include "automaton.h"

#include <algorithm>

#include "errors.h"

namespace gd {
namespace {

bool is_whitespace(uint8_t byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; }

}  // namespace

Automaton::Automaton(const Grammar& grammar, const ByteSet& alphabet, const Limits& limits, double seconds)
    : grammar_(grammar),
      alphabet_(alphabet),
      limits_(limits),
      expressions_(alphabet, limits.max_states, work_),
      regexes_(expressions_.load(grammar)),
      containers_(grammar, expressions_, regexes_, alphabet, limits_),
      has_unique_arrays_(std::any_of(grammar.nodes.begin(), grammar.nodes.end(), [](const Node& n) { return n.unique; })),
      counter_(grammar, expressions_, regexes_, alphabet, containers_, values_),
      uniqueness_(*this, counter_, values_),
      starts_(grammar.nodes.size()) {
  work_.begin("max_compile_seconds", seconds);
  frames_.push_back({});  // frame 0: no parent
  depths_.push_back(0);
  intern_patterns({});
  intern_config(stepped_);  // kDead
  find_live_nodes();
  if (!containers_.is_live(grammar.root)) {
    throw UnsatisfiableError(
        alphabet == ByteSet::all()
            ? "the schema is unsatisfiable: no JSON document matches it"
            : "the schema is unsatisfiable with this vocabulary: every document needs a byte that no token has");
  }
  if (grammar.nodes[grammar.root].kind == Node::kChain) {  // nothing stands around it, not even whitespace
    std::vector<FrameId> threads;
    push_part({FrameKind::kPart, 0, grammar.root, 0, intern({FrameKind::kRootValue, 0, 0, 0, 0})}, threads);
    start_ = config_of(std::move(threads));
  } else {
    start_ = config_of(intern({FrameKind::kRootBefore, 0, 0, 0, 0}));
  }
}

// ---- interning ------------------------------------------------------------------------------------------------------

FrameId Automaton::intern(const Frame& f) {
  uint64_t hash = combine(combine(static_cast<uint64_t>(f.kind), f.sub), f.state);
  hash = combine(combine(hash, f.extra), f.parent);
  const uint32_t next = static_cast<uint32_t>(frames_.size());
  const uint32_t depth = depth_of(f);
  make_room(frames_, depths_);
  const FrameId id = frame_index_.find_or_add(hash, next, [&](uint32_t other) { return frames_[other] == f; });
  if (id == next) {
    frames_.push_back(f);
    depths_.push_back(depth);
  }
  return id;
}

// Throws LimitError where the document would be nested too deep.
uint32_t Automaton::depth_of(const Frame& f) const {
  if (f.kind == FrameKind::kWatched || f.parent == 0) return 0;
  const uint32_t depth = depths_[f.parent] + 1;  // of what waits for the innermost container
  if (depth > limits_.max_document_depth && (f.kind == FrameKind::kObjectOpen || f.kind == FrameKind::kArrayOpen)) {
    throw LimitError("max_document_depth", "the document has more than " + std::to_string(limits_.max_document_depth) +
                                               " objects and arrays inside each other");
  }
  return depth;
}

void Automaton::check_size(size_t num_threads) const {
  if (num_threads > limits_.max_threads) {
    throw LimitError("max_threads", "the text so far can be read in " + std::to_string(num_threads) + " ways at once; at most " +
                                        std::to_string(limits_.max_threads) + " are followed");
  }
  if (memory_bytes() > limits_.max_memory_bytes) {
    throw LimitError("max_memory_bytes", "the automaton of one grammar and vocabulary needs more than " +
                                             std::to_string(limits_.max_memory_bytes) + " bytes");
  }
}

ConfigId Automaton::intern_config(std::vector<FrameId>& threads) {
  if (threads.size() > 1) {
    std::sort(threads.begin(), threads.end());
    threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
  }
  check_size(threads.size());
  uint64_t hash = 23;
  for (const FrameId f : threads) hash = combine(hash, f);
  const uint32_t next = static_cast<uint32_t>(configs_.size());
  configs_.make_room();
  threads_.reserve(threads_.size() + threads.size() > threads_.capacity() ? 2 * threads_.size() + threads.size() : 0);
  const ConfigId id = config_index_.find_or_add(hash, next, [&](uint32_t other) {
    const Config& o = configs_[other];
    return o.count == threads.size() && std::equal(threads.begin(), threads.end(), threads_.begin() + o.begin);
  });
  if (id != next) return id;
  Config& c = configs_.add();
  c.begin = static_cast<uint32_t>(threads_.size());
  c.count = static_cast<uint32_t>(threads.size());
  c.accepting = std::any_of(threads.begin(), threads.end(), [&](FrameId f) { return frames_[f].kind == FrameKind::kRootAfter; });
  threads_.insert(threads_.end(), threads.begin(), threads.end());
  return id;
}

ConfigId Automaton::config_of(FrameId f) {
  std::vector<FrameId> threads{f};
  return intern_config(threads);
}

KeyId Automaton::intern_key(const KeyPosition& k) {
  uint64_t hash = combine(combine(29, k.low), k.high);
  hash = combine(combine(combine(hash, k.depth), k.patterns), k.text);
  const uint32_t next = static_cast<uint32_t>(keys_.size());
  make_room(keys_);
  const KeyId id = key_index_.find_or_add(hash, next, [&](uint32_t other) { return keys_[other] == k; });
  if (id == next) keys_.push_back(k);
  return id;
}

uint32_t Automaton::intern_patterns(std::vector<std::pair<uint32_t, ExprId>> list) {
  uint64_t hash = 31;
  for (const auto& [pattern, state] : list) hash = combine(combine(hash, pattern), state);
  const uint32_t next = static_cast<uint32_t>(pattern_lists_.size());
  make_room(pattern_lists_);
  const uint32_t id = pattern_list_index_.find_or_add(hash, next, [&](uint32_t other) { return pattern_lists_[other] == list; });
  if (id == next) {
    pattern_list_bytes_ += sizeof(list) + list.capacity() * sizeof(list[0]);
    pattern_lists_.push_back(std::move(list));
  }
  return id;
}

const Automaton::Starts& Automaton::starts(NodeId root) {
  if (starts_[root] != nullptr) return *starts_[root];
  auto result = std::make_unique<Starts>();
  std::vector<NodeId> stack{root};
  std::vector<NodeId> seen;
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    if (!containers_.is_live(id) || std::find(seen.begin(), seen.end(), id) != seen.end()) continue;
    seen.push_back(id);
    const Node& n = grammar_.nodes[id];
    switch (n.kind) {
      case Node::kTerminal:
        result->terminals.push_back(regexes_[n.regex]);
        break;
      case Node::kChoice:
        stack.insert(stack.end(), n.choices.rbegin(), n.choices.rend());
        break;
      case Node::kMembers:
        result->objects.push_back(id);
        break;
      case Node::kElements:
        result->arrays.push_back(id);
        break;
      case Node::kChain:
        result->chains.push_back(id);
        break;
    }
  }
  starts_[root] = std::move(result);
  return *starts_[root];
}

// ---- one byte -------------------------------------------------------------------------------------------------------

ConfigId Automaton::compute_step(ConfigId c, uint8_t byte, bool for_mask) {
  std::vector<FrameId> out = std::move(stepped_);
  out.clear();
  // Indexed, and frames copied: stepping grows both tables.
  for (uint32_t i = 0; i < configs_[c].count; ++i) {
    const Frame f = frames_[threads_[configs_[c].begin + i]];
    if (!has_unique_arrays_) {
      step_frame(f, byte, for_mask, out);
      continue;
    }
    const bool is_watched = f.kind == FrameKind::kWatched;
    const Frame inner = is_watched ? frames_[f.extra] : f;
    std::vector<FrameId> stepped;
    step_frame(inner, byte, for_mask, stepped);
    for (const FrameId to : stepped) {
      const FrameId next = uniqueness_.watched(is_watched ? &f : nullptr, inner, byte, to, for_mask);
      if (next != kNone) out.push_back(next);
    }
  }
  work_.tick(1 + out.size());
  const ConfigId next = out.empty() ? kDead : intern_config(out);
  stepped_ = std::move(out);
  remember(for_mask ? configs_[c].mask_steps : configs_[c].steps, byte, next);
  return next;
}

void Automaton::remember(Steps& steps, uint8_t byte, ConfigId next) {
  if (steps.row == nullptr) {
    if (steps.count < Steps::kFew) {
      steps.bytes[steps.count] = byte;
      steps.next[steps.count++] = next;
      return;
    }
    steps.row = step_rows_.make();
    steps.row->fill(kUnknown);
    for (uint32_t i = 0; i < steps.count; ++i) (*steps.row)[steps.bytes[i]] = steps.next[i];
    row_bytes_ += sizeof(*steps.row);
  }
  (*steps.row)[byte] = next;
}

void Automaton::push(std::vector<FrameId>& out, FrameKind kind, uint32_t sub, uint32_t state, uint32_t extra, FrameId parent) {
  out.push_back(intern({kind, sub, state, extra, parent}));
}

void Automaton::resume_into(FrameId waiting, std::vector<FrameId>& out) {
  const Frame w = frames_[waiting];
  switch (w.kind) {
    case FrameKind::kRootValue:
      push(out, FrameKind::kRootAfter, 0, 0, 0, 0);
      break;
    case FrameKind::kMemberValue:
      push(out, FrameKind::kMemberAfter, 0, w.state, 0, w.parent);
      break;
    case FrameKind::kItemValue:
      push(out, FrameKind::kItemAfter, 0, w.state, 0, w.parent);
      break;
    case FrameKind::kPart:
      push_part(w, out);
      break;
    default:
      throw std::logic_error("a frame that waits for nothing was resumed");
  }
}

ConfigId Automaton::opened_array(NodeId node) {
  const FrameId root = intern({FrameKind::kRootValue, 0, 0, 0, 0});
  const FrameId open = intern({FrameKind::kArrayOpen, 0, containers_.initial(node), 0, root});
  const FrameId watched = uniqueness_.watched(nullptr, {FrameKind::kRootBefore, 0, 0, 0, 0}, '[', open, false);
  return watched == kNone ? kDead : config_of(watched);
}

ConfigId Automaton::resume(FrameId waiting) {
  std::vector<FrameId> out;
  resume_into(waiting, out);
  return intern_config(out);
}

bool Automaton::continue_run(const Frame& f, std::string_view tail, uint8_t byte, std::vector<FrameId>& out, bool& tail_complete) {
  tail_complete = f.sub >= tail.size();
  if (!tail_complete) {
    if (byte != static_cast<uint8_t>(tail[f.sub])) return false;
    Frame next = f;
    ++next.sub;
    out.push_back(intern(next));
    return true;
  }
  if (!is_whitespace(byte)) return false;
  Frame next = f;
  if (grammar_.max_whitespace != kNone) {
    if (f.sub - tail.size() >= grammar_.max_whitespace) return false;
    ++next.sub;
  }
  out.push_back(intern(next));
  return true;
}

void Automaton::start_value(NodeId node, Frame waiting, uint8_t byte, std::vector<FrameId>& out) {
  const Starts& s = starts(node);
  FrameId parent = kNone;
  const auto parent_id = [&] {
    if (parent == kNone) parent = intern(waiting);
    return parent;
  };
  for (const ExprId e : s.terminals) {
    const ExprId next = expressions_.step(e, byte);
    if (next == ExpressionPool::kEmpty) continue;
    if (next != ExpressionPool::kEpsilon) push(out, FrameKind::kTerminal, 0, next, 0, parent_id());
    if (expressions_.nullable(next)) resume_into(parent_id(), out);
  }
  if (byte == '{') {
    for (const NodeId n : s.objects) push(out, FrameKind::kObjectOpen, 0, containers_.initial(n), 0, parent_id());
  } else if (byte == '[') {
    for (const NodeId n : s.arrays) push(out, FrameKind::kArrayOpen, 0, containers_.initial(n), 0, parent_id());
  }
  for (const NodeId n : s.chains) {
    Frame part{FrameKind::kPart, 0, n, 0, parent_id()};
    for (; may_skip_part(part); ++part.extra) start_value(part_of(part), behind_part(part), byte, out);
    start_value(part_of(part), behind_part(part), byte, out);
  }
}

bool Automaton::may_skip_part(const Frame& f) const {
  return grammar_.nullable[part_of(f)] && f.extra + 1 < grammar_.nodes[f.state].choices.size();
}

// The place before a part, and the places behind it if it may be empty.
void Automaton::push_part(const Frame& f, std::vector<FrameId>& out) {
  Frame part = f;
  for (; may_skip_part(part); ++part.extra) out.push_back(intern(part));
  out.push_back(intern(part));
  if (grammar_.nullable[part_of(part)]) resume_into(part.parent, out);
}

Frame Automaton::behind_part(const Frame& f) const {
  if (f.extra + 1 == grammar_.nodes[f.state].choices.size()) return frames_[f.parent];
  Frame next = f;
  ++next.extra;
  return next;
}

void Automaton::start_items(const Frame& f, uint8_t byte, std::vector<FrameId>& out) {
  const std::vector<Containers::Entry> entries = containers_.entries(f.state, containers_.item_class(f.state));
  for (const Containers::Entry& entry : entries) {
    start_value(entry.value, {FrameKind::kItemValue, 0, entry.next, 0, f.parent}, byte, out);
  }
}

void Automaton::step_frame(const Frame& f, uint8_t byte, bool for_mask, std::vector<FrameId>& out) {
  const std::string_view item_tail = std::string_view(grammar_.item_separator).substr(1);
  const std::string_view key_tail = std::string_view(grammar_.key_separator).substr(1);
  bool tail_complete = false;
  switch (f.kind) {
    case FrameKind::kTerminal: {
      const ExprId next = expressions_.step(f.state, byte);
      if (next == ExpressionPool::kEmpty) return;
      if (next != ExpressionPool::kEpsilon) push(out, FrameKind::kTerminal, 0, next, 0, f.parent);
      if (expressions_.nullable(next)) resume_into(f.parent, out);
      return;
    }
    case FrameKind::kRootBefore:
      if (continue_run(f, {}, byte, out, tail_complete)) return;
      start_value(grammar_.root, {FrameKind::kRootValue, 0, 0, 0, 0}, byte, out);
      return;
    case FrameKind::kRootAfter:
      if (grammar_.nodes[grammar_.root].kind != Node::kChain) continue_run(f, {}, byte, out, tail_complete);
      return;
    case FrameKind::kPart:
      start_value(part_of(f), behind_part(f), byte, out);
      return;
    case FrameKind::kObjectOpen:
    case FrameKind::kMemberNext: {
      const bool opening = f.kind == FrameKind::kObjectOpen;
      if (continue_run(f, opening ? std::string_view{} : item_tail, byte, out, tail_complete) || !tail_complete) return;
      if (byte == '"') {
        const KeyId key = first_key(f.state);
        if (key != kNone) push(out, FrameKind::kKey, 0, f.state, key, f.parent);
      } else if (byte == '}' && opening && containers_.can_close(f.state)) {
        resume_into(f.parent, out);
      }
      return;
    }
    case FrameKind::kKey:
      step_in_key(f, byte, for_mask, out);
      return;
    case FrameKind::kColon:
      if (continue_run(f, {}, byte, out, tail_complete)) return;
      if (byte == static_cast<uint8_t>(grammar_.key_separator[0])) {
        push(out, FrameKind::kMemberBefore, 0, f.state, f.extra, f.parent);
      }
      return;
    case FrameKind::kMemberBefore:
      if (continue_run(f, key_tail, byte, out, tail_complete) || !tail_complete) return;
      start_value(f.extra, {FrameKind::kMemberValue, 0, f.state, 0, f.parent}, byte, out);
      return;
    case FrameKind::kMemberAfter:
      if (continue_run(f, {}, byte, out, tail_complete)) return;
      if (byte == static_cast<uint8_t>(grammar_.item_separator[0])) {
        if (containers_.any_key_may_come(f.state)) push(out, FrameKind::kMemberNext, 0, f.state, 0, f.parent);
      } else if (byte == '}' && containers_.can_close(f.state)) {
        resume_into(f.parent, out);
      }
      return;
    case FrameKind::kArrayOpen:
      if (continue_run(f, {}, byte, out, tail_complete)) return;
      if (byte == ']' && containers_.can_close(f.state)) resume_into(f.parent, out);
      start_items(f, byte, out);  // an item may begin with a bracket, too
      return;
    case FrameKind::kItemAfter:
      if (continue_run(f, {}, byte, out, tail_complete)) return;
      if (byte == static_cast<uint8_t>(grammar_.item_separator[0])) {
        const std::vector<Containers::Entry>& entries = containers_.entries(f.state, containers_.item_class(f.state));
        if (!entries.empty()) push(out, FrameKind::kItemNext, 0, f.state, 0, f.parent);
      } else if (byte == ']' && containers_.can_close(f.state)) {
        resume_into(f.parent, out);
      }
      return;
    case FrameKind::kItemNext:
      if (continue_run(f, item_tail, byte, out, tail_complete) || !tail_complete) return;
      start_items(f, byte, out);
      return;
    case FrameKind::kRootValue:
    case FrameKind::kMemberValue:
    case FrameKind::kItemValue:
    case FrameKind::kWatched:
      throw std::logic_error("a waiting or watched frame does not step by itself");
  }
}

size_t Automaton::memory_bytes() const {
  return expressions_.memory_bytes() + containers_.memory_bytes() + row_bytes_ + frames_.capacity() * sizeof(Frame) +
         frame_index_.memory_bytes() + keys_.capacity() * sizeof(KeyPosition) + key_index_.memory_bytes() + pattern_list_bytes_ +
         threads_.capacity() * sizeof(FrameId) + configs_.capacity() * sizeof(Config) + config_index_.memory_bytes() +
         values_.memory_bytes() + uniqueness_.memory_bytes();
}

}  // namespace gd
