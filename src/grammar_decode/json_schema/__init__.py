"""JSON Schema to the IR.

Reading order: `keywords`, `document`, `claims`, `formula`, `read`, `evaluated`, `combine`, `lower`, `compile`.
"""

from grammar_decode.json_schema.compile import compile_schema
from grammar_decode.json_schema.options import JsonOptions
from grammar_decode.json_schema.report import Entry, Outcome, Report

__all__ = ["Entry", "JsonOptions", "Outcome", "Report", "compile_schema"]
