"""Processors of other packages, by XGrammar's names."""
