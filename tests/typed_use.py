"""What a caller writes, for a type checker alone: ``make wheel`` checks it against the types that the wheel brings."""

import grammar_decode as gd

vocabulary: gd.Vocabulary = gd.Vocabulary([b"{", b"}", None], stop_token_ids=[2])
grammar: gd.Grammar = gd.compile_json_schema({"type": "object"}, gd.JsonOptions(key_order="schema"), limits=gd.Limits())
matcher: gd.GrammarMatcher = gd.GrammarMatcher(grammar, vocabulary, max_tokens=10)
bitmask = gd.allocate_token_bitmask(1, vocabulary.size)
matcher.fill_next_token_bitmask(bitmask)
accepted: bool = matcher.accept_token(0) and matcher.accept_tokens([1, 2])
left: int | None = matcher.tokens_left
matcher.accept_token("0")  # type: ignore[arg-type]
matcher.no_such_method()  # type: ignore[attr-defined]
data: bytes = grammar.to_bytes()
same: gd.Grammar = gd.Grammar.from_bytes(data)
