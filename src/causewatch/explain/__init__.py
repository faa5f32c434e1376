"""Showing people what was learned: the causal graph as a picture or an interactive page."""

from causewatch.explain.picture import draw

__all__ = ["draw"]
