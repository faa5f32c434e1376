"""What the published counting and the strict one say about a detector, in sentences for people."""

from __future__ import annotations

from causewatch.evaluation.paper_counting import Counts, PaperCount

__all__ = ["in_words", "share"]

NEAR_CHANCE = 1.25
"""A strict precision below so many times the share of attacked time is called little more."""


def in_words(counts: Counts) -> tuple[str, ...]:
    """What the two countings say about a detector, as sentences for people."""
    paper, strict = counts.published, counts.strict
    said = []
    if not paper.hits + paper.missed:
        said.append("No attack is as long as a step, so the published counting has nothing to see.")
    elif not paper.hits:
        said.append("There was no alarm in any attack that the published counting looks at.")
    if counts.whole_files:
        said.append(_whole_files(strict))
    elif strict.alarm_share == 1.0 and not paper.false_alarms:
        text = (
            "The alarm was on for 100 % of the attack recording; the published counting cannot see"
            " that, since it looks for false alarms in the normal recording only. The strict"
            f" precision of {strict.precision:.3f} is the share of attacked time"
        )
        if not paper.false_alarms:
            text += (
                ": a switch that is off in the normal recording and on in the other one does as"
                " well"
            )
        said.append(f"{text}.")
    elif strict.false_alarms:
        between = strict.false_alarms + strict.silent
        said.append(
            f"Outside of attacks the alarm was on for {share(strict.false_alarms, between)} of the"
            f" attack recording ({strict.false_alarms:,} of {between:,} steps); the published"
            " counting leaves these steps out. With them the precision is"
            f" {strict.precision:.3f}, not {paper.precision:.3f}."
        )
        if strict.precision < NEAR_CHANCE * strict.attacked_share:
            little = "little" if strict.precision > strict.attacked_share else "no"
            said.append(
                f"That is {little} more than the share of attacked time"
                f" ({strict.attacked_share:.3f}), which an alarm at random times reaches."
            )
    else:
        said.append(
            "Outside of attacks there was no alarm in the attack recording: what the published"
            " counting leaves out would change nothing."
        )
    if paper.false_alarms:
        total = paper.false_alarms + paper.silent
        said.append(
            f"In normal operation the alarm was on for {share(paper.false_alarms, total)} of the"
            f" test steps ({paper.false_alarms:,} of {total:,})."
        )
    return tuple(said)


def _whole_files(strict: PaperCount) -> str:
    text = (
        "The attack files are attacked from the first row to the last, so that false alarms can"
        " only be found in the normal recording, in either counting"
    )
    if strict.hits and not strict.missed and not strict.false_alarms:
        return (
            f"{text}; a switch that is off in the normal recording and on in every other one does"
            " as well."
        )
    return f"{text}; neither can tell an alarm at attacks from one at any new recording."


def share(part: int, whole: int) -> str:
    """A share for people; what is not all or nothing never reads so."""
    share = 100.0 * part / max(1, whole)
    if 0 < share < 0.1:
        return "less than 0.1 %"
    if 99.9 < share < 100:
        return "more than 99.9 %"
    return f"{share:.1f} %".replace(".0 %", " %")
