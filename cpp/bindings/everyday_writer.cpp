#include "bindings/everyday_writer.h"

#include <cstring>
#include <string_view>
#include <utility>

#include "bindings/everyday_values.h"

namespace gd::everyday {

namespace {

constexpr uint32_t kTrue = 1;  // the formula, in the byte format

}  // namespace

// ---- nodes ----

NodeId Writer::write(Literal literal) {
  const NodeId written = node(literal);
  while (!queue_.empty()) {
    const Waiting waiting = queue_.back();
    queue_.pop_back();
    nodes_[waiting.node].schema = waiting.schema;
    if (waiting.type == kArray) {
      define_array(waiting.node, waiting.schema);
    } else {
      define_object(waiting.node, waiting.schema);
    }
  }
  return written;
}

void Writer::forget() {
  regexes_ = RegexTable(&setting_.seed);
  nodes_by_literal_.clear();
  nodes_by_reading_.clear();
  containers_.clear();
  terminals_.clear();
  queue_.clear();
  nodes_.clear();
  words_.clear();
  blob_.clear();
  node_references_.clear();
  regex_references_.clear();
}

NodeId Writer::node(Literal literal) {
  NodeId& known = nodes_by_literal_.try_emplace(literal, kUnknownNode).first->second;
  if (known != kUnknownNode) return known;
  const Literal target = target_of(reader_, literal);
  NodeId made = kNoNode;
  if (target != kNever) {
    const auto found = nodes_by_literal_.find(target);
    made = found != nodes_by_literal_.end() && found->second != kUnknownNode ? found->second : made_node(target);
    nodes_by_literal_[target] = made;
  }
  nodes_by_literal_[literal] = made;
  return made;
}

NodeId Writer::made_node(Literal literal) {
  if (!is_schema(literal)) return of_types(kEveryType, kFree);
  const Reading& reading = reader_.said_by(literal);
  if (!reading.branches.empty()) return of_types(reading.types, literal);
  std::string key = reading.key;
  key.push_back(static_cast<char>('@' + reading.types));
  const auto found = nodes_by_reading_.find(key);
  if (found != nodes_by_reading_.end()) return found->second;
  const NodeId made = of_types(reading.types, literal);
  nodes_by_reading_.emplace(std::move(key), made);
  return made;
}

// One text for all scalars, one node for objects and one for arrays.
NodeId Writer::of_types(uint32_t types, Literal literal) {
  std::vector<RegexId> texts;
  for (const uint32_t type : {kNull, kBoolean, kNumber, kString}) {
    if ((types & type) == 0) continue;
    const Source from = source_of(reader_, literal, type);
    if (from.kind == Source::kNothing) continue;
    const std::optional<RegexId> text = scalar(type, from);
    if (text) texts.push_back(*text);
  }
  std::vector<NodeId> nodes;
  if (!texts.empty()) {
    const RegexId text = texts.size() > 1 ? regexes_.alternate(texts) : texts[0];
    if (text != setting_.empty) nodes.push_back(terminal(text));
  }
  for (const uint32_t type : {kObject, kArray}) {
    if ((types & type) == 0) continue;
    const Source from = source_of(reader_, literal, type);
    if (from.kind != Source::kNothing) nodes.push_back(container(type, from.literal));
  }
  for (const NodeId one : nodes) read_first_by(one, literal);
  if (nodes.size() <= 1) return nodes.empty() ? kNoNode : nodes[0];
  const NodeId id = choice(nodes);
  read_first_by(id, literal);
  return id;
}

void Writer::read_first_by(NodeId node, Literal literal) {
  Literal& first = nodes_[node].first_schema;
  if (first == kFree) first = literal;
}

NodeId Writer::terminal(RegexId regex) {
  const auto [known, is_new] = terminals_.try_emplace(regex, static_cast<NodeId>(nodes_.size()));
  if (is_new) {
    const NodeId id = reserve();
    begin(id);
    words_.push_back(Node::kTerminal);
    regex_references_.push_back(words_.size());
    words_.push_back(regex);
    end(id);
  }
  return known->second;
}

NodeId Writer::choice(const std::vector<NodeId>& nodes) {
  const NodeId id = reserve();
  begin(id);
  words_.push_back(Node::kChoice);
  words_.push_back(static_cast<uint32_t>(nodes.size()));
  for (const NodeId one : nodes) add_reference(one);
  end(id);
  return id;
}

NodeId Writer::container(uint32_t type, Literal literal) {
  std::string key(1, type == kObject ? 'o' : 'a');
  const Reading& reading = reader_.said_by(literal);
  key.append(type == kObject ? reading.object_key : reading.array_key);
  const auto [known, is_new] = containers_.try_emplace(std::move(key), static_cast<NodeId>(nodes_.size()));
  if (is_new) queue_.push_back({reserve(), type, literal});
  return known->second;
}

void Writer::define_object(NodeId id, Literal literal) {
  const Reading& reading = reader_.said_by(literal);
  const Required required = required_by(reading);
  std::vector<std::pair<std::string_view, Literal>> classes(reading.members.begin(), reading.members.end());
  for (const std::string_view name : required.undeclared) classes.emplace_back(name, kFree);
  std::vector<NodeId> values;
  values.reserve(classes.size() + 1);
  for (const auto& [name, value] : classes) values.push_back(node(value == kAlways ? kFree : value));
  const bool is_open = !reading.has_others || reading.others != kNever;
  if (is_open) values.push_back(node(reading.others));
  begin(id);
  words_.push_back(Node::kMembers);
  words_.push_back(static_cast<uint32_t>(classes.size()));
  for (const auto& [name, value] : classes) {
    words_.push_back(kNone);  // no rank
    words_.push_back(static_cast<uint32_t>(name.size()));
    blob_.append(name);
  }
  words_.push_back(is_open ? 1 : 0);
  if (is_open) words_.push_back(setting_.every_key);  // which every grammar begins with
  words_.push_back(static_cast<uint32_t>(required.ids.size()));
  words_.insert(words_.end(), required.ids.begin(), required.ids.end());
  words_.insert(words_.end(), {0, kNone});
  for (const NodeId value : values) add_pick(value);
  words_.insert(words_.end(), {0, kTrue});
  end(id);
}

void Writer::define_array(NodeId id, Literal literal) {
  const Reading& reading = reader_.said_by(literal);
  const uint32_t low = reading.min_items;
  check_array(reading);
  const NodeId item = node(reading.items);
  if (item == kNoNode && low > 0) throw NotEveryday{};
  const uint32_t high = item == kNoNode ? kNone : reading.max_items;
  const bool unique = reading.unique_items && item != kNoNode && high > 1;
  begin(id);
  words_.insert(words_.end(), {Node::kElements, unique ? 1u : 0u, 0, low, high});
  add_pick(item);
  words_.insert(words_.end(), {0, kTrue});
  end(id);
}

NodeId Writer::reserve() {
  if (nodes_.size() >= setting_.max_nodes) throw NotEveryday{};
  nodes_.emplace_back();
  return static_cast<NodeId>(nodes_.size() - 1);
}

void Writer::begin(NodeId node) {
  nodes_[node].begin = static_cast<uint32_t>(words_.size());
  nodes_[node].blob_begin = static_cast<uint32_t>(blob_.size());
}

void Writer::end(NodeId node) {
  nodes_[node].end = static_cast<uint32_t>(words_.size());
  nodes_[node].blob_end = static_cast<uint32_t>(blob_.size());
}

void Writer::add_pick(NodeId node) {
  if (node == kNoNode) {
    words_.push_back(0);
  } else {
    words_.push_back(1);
    add_reference(node);
    words_.push_back(0);
  }
}

void Writer::add_reference(NodeId node) {
  node_references_.push_back(words_.size());
  words_.push_back(node);
}

// ---- scalars ----

// The texts of the values of the type; nothing if there are plainly none.
std::optional<RegexId> Writer::scalar(uint32_t type, const Source& from) {
  if (from.kind == Source::kAlternatives) return asked(type, from);
  const Reading& reading = reader_.said_by(from.literal);
  if (type == kNull) return setting_.null;
  if (type == kBoolean) return booleans(reading.truths);
  const Claim* only = nullptr;
  size_t count = 0;
  for (const Claim& claim : reading.claims) {
    if (claim.type != type) continue;
    only = &claim;
    ++count;
  }
  if (count == 0) return type == kNumber ? setting_.numbers : setting_.strings;
  if (type == kNumber && count == 1 && reading.is_integer) return setting_.integers;
  if (type == kString && count == 1 && setting_.texts_are_literal) {
    if (const std::optional<RegexId> texts = given_texts(*only); texts) return texts;
  }
  return asked(type, from);
}

std::optional<RegexId> Writer::booleans(uint32_t truths) {
  if (truths == 3) return setting_.booleans;
  if (truths == 0) return std::nullopt;
  return regexes_.literals({truths == 2 ? "true" : "false"});
}

// The language of an enumeration, if its strings are spelled as they are.
std::optional<RegexId> Writer::given_texts(const Claim& claim) {
  const std::string_view keyword = text_of(claim.keyword.ptr());
  if (keyword != "enum" && keyword != "const") return std::nullopt;
  PyObject* argument = claim.argument.ptr();
  std::vector<std::string_view> texts;
  const Py_ssize_t size = keyword == "enum" ? PyList_Size(argument) : 1;
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject* value = keyword == "enum" ? PyList_GetItem(argument, i) : argument;
    if (!PyUnicode_CheckExact(value)) continue;
    texts.push_back(text_of(value));
    if (!is_plain(texts.back())) return std::nullopt;
  }
  const RegexId body = regexes_.literals(std::move(texts));
  return regexes_.concat(std::vector<RegexId>{setting_.quote, body, setting_.quote});
}

// What is said of the type: as a key, and as a schema.
nb::object Writer::said_of(uint32_t type, const Source& from, std::string& key) {
  if (from.kind == Source::kAnything) {
    key.push_back('*');
    return nb::bool_(true);
  }
  nb::dict said;
  if (from.kind == Source::kAlternatives) {
    nb::list alternatives;
    key.push_back(from.exactly_one ? '1' : '+');
    add_word(key, from.alternatives.size());
    for (const Source& alternative : from.alternatives) alternatives.append(said_of(type, alternative, key));
    said[from.exactly_one ? "oneOf" : "anyOf"] = alternatives;
    return said;
  }
  key.push_back('.');
  for (const Claim& claim : reader_.said_by(from.literal).claims) {
    if (claim.type != type) continue;
    key.push_back(',');
    add_claim(key, claim);
    said[claim.keyword] = claim.argument;
  }
  return said;
}

// Any other language is made by the front end in Python, once in a process.
RegexId Writer::asked(uint32_t type, const Source& from) {
  std::string key(1, static_cast<char>(type));
  const nb::object said = said_of(type, from, key);
  const auto known = setting_.languages.find(key);
  if (known != setting_.languages.end()) return regexes_.put(known->second);
  const nb::object language = setting_.scalar(type, said);
  if (language.is_none()) throw NotEveryday{};
  EncodedRegexes encoded = encoded_regexes(language);
  const RegexId id = regexes_.put(encoded);
  const size_t bytes = 256 + key.size() + encoded.blob.size() + encoded.words.size() * sizeof(uint32_t);
  if (setting_.language_bytes + bytes > Setting::kMostBytes) {
    setting_.languages.clear();
    setting_.language_bytes = 0;
  }
  setting_.language_bytes += bytes;
  setting_.languages.emplace(std::move(key), std::move(encoded));
  return id;
}

// ---- bytes ----

EncodedRegexes encoded_regexes(const nb::handle& beginning) {
  EncodedRegexes result;
  result.count = nb::cast<uint32_t>(beginning.attr("num_regexes"));
  const auto words = nb::cast<nb::bytes>(beginning.attr("words"));
  const auto blob = nb::cast<nb::bytes>(beginning.attr("blob"));
  result.words.resize(words.size() / sizeof(uint32_t));
  if (!result.words.empty()) std::memcpy(result.words.data(), words.c_str(), result.words.size() * sizeof(uint32_t));
  result.blob.assign(blob.c_str(), blob.size());
  return result;
}

nb::bytes Writer::encoded(NodeId root) const {
  std::vector<uint32_t> head = setting_.spacing;
  head.push_back(regexes_.size());
  size_t num_words = head.size() + setting_.beginning.words.size() + regexes_.words().size() + 2;
  size_t blob_size = setting_.spacing_blob.size() + setting_.beginning.blob.size() + regexes_.blob().size();
  for (const NodeWords& node : nodes_) {
    num_words += node.end - node.begin;
    blob_size += node.blob_end - node.blob_begin;
  }
  std::string out;
  out.reserve(16 + num_words * sizeof(uint32_t) + blob_size);
  const auto add = [&](const uint32_t* words, size_t count) {
    out.append(reinterpret_cast<const char*>(words), count * sizeof(uint32_t));
  };
  const auto add_one = [&](size_t word) {
    const auto value = static_cast<uint32_t>(word);
    add(&value, 1);
  };
  out.append("GDIR");
  add_one(kFormatVersion);
  add_one(num_words);
  add_one(blob_size);
  add(head.data(), head.size());
  add(setting_.beginning.words.data(), setting_.beginning.words.size());
  add(regexes_.words().data(), regexes_.words().size());
  add_one(nodes_.size());
  for (const NodeWords& node : nodes_) add(words_.data() + node.begin, node.end - node.begin);
  add_one(root);
  out.append(setting_.spacing_blob);
  out.append(setting_.beginning.blob);
  out.append(regexes_.blob());
  for (const NodeWords& node : nodes_) out.append(blob_, node.blob_begin, node.blob_end - node.blob_begin);
  return nb::bytes(out.data(), out.size());
}

nb::tuple Writer::appended(uint32_t first_regex, NodeId first_node) const {
  const auto bytes = [](const auto& data) {
    return nb::bytes(reinterpret_cast<const char*>(data.data()), data.size() * sizeof(data[0]));
  };
  const uint32_t num_base = setting_.seed.size();
  std::vector<uint32_t> moved = words_;
  for (const size_t at : node_references_) moved[at] += first_node;
  for (const size_t at : regex_references_) moved[at] += moved[at] < num_base ? 0 : first_regex - num_base;
  std::vector<uint32_t> words;
  std::string blob;
  for (const NodeWords& node : nodes_) {
    words.insert(words.end(), moved.begin() + node.begin, moved.begin() + node.end);
    blob.append(blob_, node.blob_begin, node.blob_end - node.blob_begin);
  }
  return nb::make_tuple(regexes_.size() - num_base, bytes(regexes_.words_from(first_regex)), bytes(regexes_.blob()), nodes_.size(),
                        bytes(words), bytes(blob));
}

nb::list Writer::schemas_of_nodes(bool first) const {
  nb::list result;
  for (const NodeWords& node : nodes_) result.append(reader_.object_of(first ? node.first_schema : node.schema));
  return result;
}

}  // namespace gd::everyday
