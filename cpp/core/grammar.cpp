#include "grammar.h"

#include <algorithm>
#include <cstring>

#include "errors.h"

namespace gd {
namespace {

constexpr uint32_t kMaxFormulaDepth = 200;
constexpr uint32_t kMaxChainDepth = 200;

bool is_nullable(const Grammar& g, const Regex& r, const std::vector<bool>& known) {
  const std::span<const RegexId> parts = g.parts(r);
  const auto nullable = [&](RegexId part) { return bool{known[part]}; };
  switch (r.kind) {
    case Regex::kByteClass:
      return false;
    case Regex::kConcatenation:
    case Regex::kIntersection:
      return std::all_of(parts.begin(), parts.end(), nullable);
    case Regex::kAlternation:
      return std::any_of(parts.begin(), parts.end(), nullable);
    case Regex::kRepetition:
      return r.minimum == 0 || nullable(parts[0]);
    case Regex::kComplement:
      return !nullable(parts[0]);
    case Regex::kLiteralSet:
      return std::any_of(r.literals.begin(), r.literals.end(), [](const std::string& text) { return text.empty(); });
    case Regex::kAutomaton:
      return r.states[0].accepting;
  }
  return false;
}

// The nodes that match the empty text: the least fixed point. Only a part of a chain may, and a chain.
std::vector<bool> nullable_nodes(const Grammar& g) {
  std::vector<bool> regexes;
  for (const Regex& r : g.regexes) regexes.push_back(is_nullable(g, r, regexes));
  std::vector<bool> nodes(g.nodes.size(), false);
  const auto known = [&](NodeId id) { return bool{nodes[id]}; };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = nodes.size(); i-- > 0;) {
      const Node& n = g.nodes[i];
      if (nodes[i] || n.kind == Node::kMembers || n.kind == Node::kElements) continue;
      nodes[i] = n.kind == Node::kTerminal ? bool{regexes[n.regex]}
                 : n.kind == Node::kChoice ? std::any_of(n.choices.begin(), n.choices.end(), known)
                                           : std::all_of(n.choices.begin(), n.choices.end(), known);
      changed = changed || nodes[i];
    }
  }
  return nodes;
}

// Chains stand around JSON, never in it: the root is one if there is any, and no value of a container holds one. What a chain begins
// with does not lead back to it, so that its first bytes are found.
void check_chains(Grammar& g) {
  const size_t num_nodes = g.nodes.size();
  std::vector<bool> has_chain(num_nodes, false);
  std::vector<std::vector<NodeId>> choices_with(num_nodes);
  std::vector<NodeId> work;
  for (NodeId i = 0; i < num_nodes; ++i) {
    has_chain[i] = g.nodes[i].kind == Node::kChain;
    if (has_chain[i]) work.push_back(i);
  }
  if (work.empty()) return;
  if (!has_chain[g.root]) throw SerializationError("a grammar has chains, but its root is none");
  g.nullable = nullable_nodes(g);
  for (NodeId i = 0; i < num_nodes; ++i) {
    if (g.nodes[i].kind != Node::kChoice) continue;
    for (const NodeId c : g.nodes[i].choices) choices_with[c].push_back(i);
  }
  while (!work.empty()) {
    const NodeId id = work.back();
    work.pop_back();
    for (const NodeId choice : choices_with[id]) {
      if (has_chain[choice]) continue;
      has_chain[choice] = true;
      work.push_back(choice);
    }
  }
  for (const Node& n : g.nodes) {
    for (const std::vector<Pick>& picks : n.values) {
      for (const Pick& pick : picks) {
        if (has_chain[pick.node]) throw SerializationError("a value of an object or array is a chain");
      }
    }
  }
  // Depth first along what may come first. Height 0: not seen; kNone: on the way.
  const auto num_first = [&](NodeId id) {
    const Node& n = g.nodes[id];
    if (n.kind != Node::kChain) return n.choices.size();
    size_t count = 1;
    while (count < n.choices.size() && g.nullable[n.choices[count - 1]]) ++count;
    return count;
  };
  std::vector<uint32_t> height(num_nodes, 0);
  std::vector<std::pair<NodeId, size_t>> path;
  for (NodeId start = 0; start < num_nodes; ++start) {
    if (!has_chain[start] || height[start] != 0) continue;
    path.emplace_back(start, 0);
    height[start] = kNone;
    while (!path.empty()) {
      auto& [id, next] = path.back();
      const std::vector<NodeId>& children = g.nodes[id].choices;
      const size_t count = num_first(id);
      if (next < count) {
        const NodeId child = children[next++];
        if (!has_chain[child]) continue;
        if (height[child] == kNone) throw SerializationError("a chain begins with itself");
        if (height[child] != 0) continue;
        height[child] = kNone;
        path.emplace_back(child, 0);
        continue;
      }
      uint32_t most = 0;
      for (size_t i = 0; i < count; ++i) most = std::max(most, height[children[i]]);
      if (most >= kMaxChainDepth) throw SerializationError("chains begin with chains more than 200 deep");
      height[id] = most + 1;
      path.pop_back();
    }
  }
}

class Reader {
 public:
  explicit Reader(std::string_view data) {
    if (data.size() < 16 || data.substr(0, 4) != "GDIR") {
      throw SerializationError("this is not a serialised grammar: it does not begin with GDIR");
    }
    uint32_t header[3];
    std::memcpy(header, data.data() + 4, sizeof header);
    if (header[0] != kFormatVersion) {
      throw SerializationError("the grammar has format version " + std::to_string(header[0]) + "; this release reads " +
                               std::to_string(kFormatVersion) + ". Compile it again.");
    }
    const size_t num_words = header[1];
    const size_t blob_size = header[2];
    if (data.size() != 16 + 4 * num_words + blob_size) {
      throw SerializationError("the data is truncated or has bytes at the end that do not belong to it");
    }
    words_.resize(num_words);
    if (num_words != 0) std::memcpy(words_.data(), data.data() + 16, 4 * num_words);
    blob_ = data.substr(16 + 4 * num_words);
  }

  Grammar grammar() {
    Grammar g;
    g.max_whitespace = word();
    g.item_separator = text();
    g.key_separator = text();
    if (g.item_separator.empty() || g.key_separator.empty()) throw SerializationError("a separator is empty");
    if (g.item_separator.size() > 64 || g.key_separator.size() > 64) throw SerializationError("a separator is too long");
    const uint32_t num_regexes = count();
    g.regexes.reserve(num_regexes);
    for (uint32_t i = 0; i < num_regexes; ++i) g.regexes.push_back(regex(i, g.regex_parts));
    const uint32_t num_nodes = count();
    g.nodes.reserve(num_nodes);
    for (uint32_t i = 0; i < num_nodes; ++i) g.nodes.push_back(node(num_regexes, num_nodes));
    g.root = id(num_nodes);
    check_chains(g);
    if (at_ != words_.size() || blob_at_ != blob_.size()) throw SerializationError("the data has parts that no grammar owns");
    return g;
  }

 private:
  uint32_t word() {
    if (at_ >= words_.size()) throw SerializationError("the data ends in the middle of a grammar");
    return words_[at_++];
  }
  uint32_t count() {
    const uint32_t n = word();
    if (n > words_.size() - at_ + blob_.size() - blob_at_) {
      throw SerializationError("a count of " + std::to_string(n) + " is larger than the data that follows it");
    }
    return n;
  }
  uint32_t id(uint32_t limit) {
    const uint32_t value = word();
    if (value >= limit) {
      throw SerializationError("id " + std::to_string(value) + " is out of range; the table has " + std::to_string(limit) +
                               " entries");
    }
    return value;
  }
  std::vector<uint32_t> ids(uint32_t limit) {
    std::vector<uint32_t> result(count());
    for (uint32_t& value : result) value = id(limit);
    return result;
  }
  std::vector<uint32_t> sorted_ids(uint32_t limit) {
    std::vector<uint32_t> result = ids(limit);
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
  }
  std::string text() {
    const uint32_t size = word();
    if (size > blob_.size() - blob_at_) throw SerializationError("a literal reaches beyond the data");
    blob_at_ += size;
    return std::string(blob_.substr(blob_at_ - size, size));
  }

  ByteSet byte_set() {
    ByteSet set;
    for (uint32_t i = 0; i < 8; ++i) set.words[i / 2] |= uint64_t{word()} << (32 * (i % 2));
    return set;
  }

  // `parts`: of all expressions.
  Regex regex(uint32_t index, std::vector<RegexId>& parts) {
    Regex r;
    r.first_part = static_cast<uint32_t>(parts.size());
    const uint32_t kind = word();
    if (kind > Regex::kAutomaton) throw SerializationError("unknown tag " + std::to_string(kind) + " of a regular expression");
    r.kind = static_cast<Regex::Kind>(kind);
    switch (r.kind) {
      case Regex::kByteClass:
        r.bytes = byte_set();
        break;
      case Regex::kConcatenation:
      case Regex::kAlternation:
      case Regex::kIntersection:
        r.num_parts = count();
        for (uint32_t i = 0; i < r.num_parts; ++i) parts.push_back(id(index));
        break;
      case Regex::kRepetition:
        parts.push_back(id(index));
        r.num_parts = 1;
        r.minimum = word();
        r.maximum = word();
        if (r.minimum > r.maximum) throw SerializationError("a repetition has a minimum above its maximum");
        break;
      case Regex::kComplement:
        parts.push_back(id(index));
        r.num_parts = 1;
        break;
      case Regex::kLiteralSet: {
        const uint32_t n = count();
        r.literals.reserve(n);
        for (uint32_t i = 0; i < n; ++i) r.literals.push_back(text());
        if (!std::is_sorted(r.literals.begin(), r.literals.end())) {
          std::sort(r.literals.begin(), r.literals.end());
        }
        r.literals.erase(std::unique(r.literals.begin(), r.literals.end()), r.literals.end());
        break;
      }
      case Regex::kAutomaton: {
        const uint32_t num_states = count();
        if (num_states == 0) throw SerializationError("an automaton has no states");
        r.states.resize(num_states);
        for (Regex::State& state : r.states) {
          state.accepting = id(2) == 1;
          const uint32_t num_transitions = count();
          ByteSet seen;
          for (uint32_t i = 0; i < num_transitions; ++i) {
            const ByteSet bytes = byte_set();
            if (bytes.intersects(seen)) throw SerializationError("an automaton is not deterministic");
            seen.merge(bytes);
            state.transitions.emplace_back(bytes, id(num_states));
          }
        }
        break;
      }
    }
    return r;
  }

  Claim claim(uint32_t num_classes) {
    Claim c;
    const uint32_t kind = word();
    if (kind > Claim::kCountMax) throw SerializationError("unknown tag " + std::to_string(kind) + " of a claim");
    c.kind = static_cast<Claim::Kind>(kind);
    switch (c.kind) {
      case Claim::kMember:
        c.classes = sorted_ids(num_classes);
        break;
      case Claim::kSome:
      case Claim::kMost:
        c.count = word();
        c.classes = sorted_ids(num_classes);
        break;
      case Claim::kHas:
      case Claim::kLacks:
        c.classes = {id(num_classes)};
        break;
      case Claim::kCountMin:
      case Claim::kCountMax:
        c.count = word();
        break;
    }
    return c;
  }

  // Appends the formula to `out`, children first; returns its index there.
  uint32_t formula(std::vector<FormulaNode>& out, uint32_t num_claims, uint32_t depth) {
    if (depth > kMaxFormulaDepth) throw SerializationError("a formula is nested more than 200 deep");
    FormulaNode f;
    const uint32_t kind = word();
    if (kind > FormulaNode::kOr) throw SerializationError("unknown tag " + std::to_string(kind) + " of a formula");
    f.kind = static_cast<FormulaNode::Kind>(kind);
    if (f.kind == FormulaNode::kClaim) {
      f.claim = id(num_claims);
    } else if (f.kind == FormulaNode::kAnd || f.kind == FormulaNode::kOr) {
      const uint32_t n = count();
      for (uint32_t i = 0; i < n; ++i) f.parts.push_back(formula(out, num_claims, depth + 1));
    }
    out.push_back(std::move(f));
    return static_cast<uint32_t>(out.size() - 1);
  }

  Node node(uint32_t num_regexes, uint32_t num_nodes) {
    Node n;
    const uint32_t kind = word();
    if (kind > Node::kChain) throw SerializationError("unknown tag " + std::to_string(kind) + " of a node");
    n.kind = static_cast<Node::Kind>(kind);
    if (n.kind == Node::kTerminal) {
      n.regex = id(num_regexes);
      return n;
    }
    if (n.kind == Node::kChoice || n.kind == Node::kChain) {
      n.choices = ids(num_nodes);
      if (n.kind == Node::kChain && n.choices.empty()) throw SerializationError("a chain has no parts");
      return n;
    }
    uint32_t num_classes = 0;
    if (n.kind == Node::kMembers) {
      const uint32_t num_names = count();
      n.names.reserve(num_names);
      n.ranks.reserve(num_names);
      for (uint32_t i = 0; i < num_names; ++i) {
        n.ranks.push_back(word());
        n.names.push_back(text());
      }
      for (const uint32_t rank : n.ranks) {
        if (rank != kNone && rank >= num_names) throw SerializationError("the rank of a name is out of range");
      }
      n.patterns = ids(num_regexes);
      n.required = sorted_ids(num_names);
      num_classes = num_names + static_cast<uint32_t>(n.patterns.size());
    } else {
      n.unique = id(2) == 1;
      n.prefix = count();
      num_classes = n.prefix + 1;
    }
    n.min_count = word();
    n.max_count = word();
    n.values.resize(num_classes);
    for (std::vector<Pick>& picks : n.values) {
      const uint32_t num_picks = count();
      picks.reserve(num_picks);
      for (uint32_t i = 0; i < num_picks; ++i) {
        Pick pick;
        pick.node = id(num_nodes);
        pick.claims = sorted_ids(kNone);
        picks.push_back(std::move(pick));
      }
    }
    const uint32_t num_claims = count();
    n.claims.reserve(num_claims);
    for (uint32_t i = 0; i < num_claims; ++i) n.claims.push_back(claim(num_classes));
    for (const std::vector<Pick>& picks : n.values) {
      for (const Pick& pick : picks) {
        if (!pick.claims.empty() && pick.claims.back() >= num_claims) {
          throw SerializationError("a pick names a claim that does not exist");
        }
      }
    }
    formula(n.formula, num_claims, 0);
    return n;
  }

  std::vector<uint32_t> words_;
  std::string_view blob_;
  size_t at_ = 0;
  size_t blob_at_ = 0;
};

}  // namespace

Grammar read_grammar(std::string_view data) { return Reader(data).grammar(); }

}  // namespace gd
