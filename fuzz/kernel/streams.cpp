// Streams of calls on grammars that the compiler made: tokens, bytes, rollbacks, forks, resets, in any order. Whatever came before:
// a token is in the mask exactly if it is accepted, a stop token exactly if the document may end, the mask of a live state is not empty,
// what is refused changes nothing, a state that is returned to has the mask it had, and the end stays within the limit of tokens.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "common.h"

namespace {

struct World {
  std::vector<std::string> grammars;
  std::vector<std::shared_ptr<const gd::Vocabulary>> vocabularies{fuzz::make_vocabulary(true), fuzz::make_vocabulary(false)};

  World() {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(GD_FUZZ_GRAMMARS)) paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) {
      std::ifstream file(path, std::ios::binary);
      grammars.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    fuzz::check(!grammars.empty(), "fuzz/seeds.py has made no grammars");
  }
};

class Session {
 public:
  // Throws MatcherError if no document fits into the limit.
  Session(fuzz::Input& input, std::shared_ptr<gd::CompiledGrammar> grammar, std::shared_ptr<const gd::Vocabulary> vocabulary,
          const gd::Matcher::Limit& limit)
      : input_(input),
        matcher_(std::make_unique<gd::Matcher>(std::move(grammar), std::move(vocabulary), std::vector<gd::TokenId>{}, limit)) {
    masks_.push_back(fuzz::mask_of(*matcher_));
  }

  void run() {
    for (int calls = 0; calls < 64 && !input_.empty(); ++calls) {
      call(input_.byte() % 12);
      check_masks();
    }
  }

 private:
  gd::TokenId some_token() {
    const std::vector<uint32_t>& mask = masks_.back();
    const uint32_t size = matcher_->vocabulary().size();
    const gd::TokenId from = input_.below(size);
    if (input_.byte() % 4 == 0) return from;  // any token; else the next allowed one
    for (uint32_t i = 0; i < size; ++i) {
      if (fuzz::is_allowed(mask, (from + i) % size)) return (from + i) % size;
    }
    return from;
  }

  void accept(gd::TokenId token) {
    const bool accepted = matcher_->accept_token(token);
    fuzz::check(accepted == (fuzz::is_allowed(masks_.back(), token) && !was_terminated_), "mask and accept_token differ");
    if (accepted) stepped(1);
  }
  void stepped(size_t steps) {
    for (; steps > 0; --steps) masks_.push_back({});  // a mask that was not looked at stays unknown
    masks_.back() = fuzz::mask_of(*matcher_);
    was_terminated_ = matcher_->is_terminated();
  }

  void call(uint32_t kind) {
    switch (kind) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
        accept(some_token());
        return;
      case 5: {
        std::vector<gd::TokenId> tokens;
        for (uint32_t n = input_.below(5); n > 0; --n) tokens.push_back(some_token());
        const size_t valid = matcher_->validate_tokens(tokens);
        const bool all = matcher_->accept_tokens(tokens);
        fuzz::check(all == (valid == tokens.size()), "validate_tokens and accept_tokens differ");
        if (all && !tokens.empty()) stepped(tokens.size());
        return;
      }
      case 6:
      case 7: {
        const std::string bytes = input_.text(1 + input_.below(8));
        size_t count = 0;
        if (matcher_->accept_bytes(bytes, input_.byte() % 3, &count)) {
          stepped(1);
        } else {
          fuzz::check(count < bytes.size() || was_terminated_ || is_limited(), "all bytes were accepted, and were not");
        }
        return;
      }
      case 8: {
        const size_t steps = input_.below(static_cast<uint32_t>(matcher_->num_steps()) + 2);
        const bool possible = steps <= matcher_->num_steps();
        try {
          matcher_->rollback(steps);
          fuzz::check(possible, "more was rolled back than there was");
          masks_.resize(masks_.size() - steps);
        } catch (const gd::MatcherError&) {
          fuzz::check(!possible, "what was there could not be rolled back");
        }
        was_terminated_ = matcher_->is_terminated();
        return;
      }
      case 9: {  // a fork goes its own way, and this one stays
        gd::Matcher twin(*matcher_);
        for (uint32_t n = input_.below(4); n > 0; --n) twin.accept_token(some_token());
        twin.rollback(twin.num_steps());
        return;
      }
      case 10:
        matcher_ = std::make_unique<gd::Matcher>(*matcher_);
        return;
      default:
        if (input_.byte() % 8 == 0) {
          matcher_->reset();
          masks_.assign(1, fuzz::mask_of(*matcher_));
          was_terminated_ = false;
        } else if (input_.byte() % 2 == 0) {
          matcher_->engine().set_memo_limit(input_.byte() % 2 == 0 ? 0 : 4096);
        }
        return;
    }
  }

  void check_masks() {
    fuzz::check(matcher_->num_steps() + 1 == masks_.size(), "the number of steps is wrong");
    const std::vector<uint32_t> mask = fuzz::mask_of(*matcher_);
    if (masks_.back().empty()) masks_.back() = mask;
    fuzz::check(mask == masks_.back(), "the same state has another mask");
    if (is_limited() && !was_terminated_) {
      const uint32_t stop = matcher_->limit().counts_stop ? 1 : 0;
      fuzz::check(matcher_->distance() + stop <= matcher_->tokens_left(), "the end is beyond the limit of tokens");
    }
    const gd::Vocabulary& vocabulary = matcher_->vocabulary();
    fuzz::check(std::any_of(mask.begin(), mask.end(), [](uint32_t word) { return word != 0; }), "the mask is empty");
    fuzz::check(fuzz::is_allowed(mask, 1) == matcher_->is_accepting(), "the stop token is allowed where the document can't end");
    for (int probes = 0; probes < 6; ++probes) {
      const gd::TokenId token = input_.below(vocabulary.size());
      gd::Matcher twin(*matcher_);
      fuzz::check(twin.accept_token(token) == (fuzz::is_allowed(mask, token) && !was_terminated_), "mask and accept_token differ");
    }
  }

  bool is_limited() const { return matcher_->limit().max_tokens != gd::kNone; }

  fuzz::Input& input_;
  std::unique_ptr<gd::Matcher> matcher_;
  std::vector<std::vector<uint32_t>> masks_;  // [n] = the mask behind n steps; empty: not looked at
  bool was_terminated_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const World world;
  fuzz::Input input(data, size);
  const std::string& grammar = world.grammars[input.below(static_cast<uint32_t>(world.grammars.size()))];
  const std::shared_ptr<const gd::Vocabulary> vocabulary = world.vocabularies[input.byte() % 2];
  if (input.byte() % 8 == 0) vocabulary->clear_tables();
  gd::Matcher::Limit limit;
  if (input.byte() % 3 == 0) limit = {1 + input.below(60), input.byte() % 2 == 0, input.below(20)};
  try {
    std::optional<Session> session;
    try {
      session.emplace(input, std::make_shared<gd::CompiledGrammar>(grammar, fuzz::limits(20000)), vocabulary, limit);
    } catch (const gd::MatcherError&) {
      return 0;
    }
    session->run();
  } catch (const gd::LimitError&) {
  } catch (const gd::UnsatisfiableError&) {
  }
  return 0;
}
