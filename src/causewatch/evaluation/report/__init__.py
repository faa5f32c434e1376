"""The pages of ``evaluate --report`` and ``compare --report``: one HTML file each."""

from causewatch.evaluation.report.write import (
    BothCountings,
    evaluation_page,
    write_comparison,
    write_evaluation,
)

__all__ = ["BothCountings", "evaluation_page", "write_comparison", "write_evaluation"]
