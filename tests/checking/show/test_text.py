"""The report as a terminal shows it: the answer, the tree, the numbers, the closing line."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from handformer.checking.report import Difference, Report, Status, Verdict
from handformer.checking.show.text import write
from tests.checking.show.reports import (
    HOSTILE,
    OTHERS,
    SCALE,
    SCORES,
    fine,
    nothing,
    scaled,
    with_verdict,
)


def written(report: Report, width: int = 80, **options: object) -> str:
    """What is printed where nobody sees colours."""
    file = io.StringIO()
    write(report, Console(file=file, width=width, highlight=False, **options))  # type: ignore[arg-type]
    return file.getvalue()


def words(text: str) -> str:
    """The same on one line."""
    return " ".join(text.split())


def test_the_answer_comes_first_in_plain_words() -> None:
    text = written(scaled())
    first, _, _ = text.partition("\n\n")
    assert words(first) == (
        "blocks.0.attention.scores is the first step that differs. Your own q and k are right; "
        "your scores are 0.5774 of what they should be. You divided by sqrt(d_model) (3.464), not "
        "by sqrt(d_k) (2). Divide by sqrt(d_k), the square root of the width of a head."
    )


def test_the_tree_is_unfolded_around_what_is_wrong_alone() -> None:
    lines = written(scaled()).splitlines()
    start = lines.index("dump.npz against small")
    tree = [line.replace("│", " ").strip("├└─ ") for line in lines[start : lines.index("", start)]]
    assert tree[1:10] == [
        "✗ forward",
        "· positions  missing",
        "✓ mask, embedding.out, position_embedding.out, x  4 values right",
        "✗ blocks.0",
        "✓ norm_1  4 values right",
        "✗ attention",
        "✓ q, k, v, mask  4 values right",
        "✗ scores  wrong: SCALE-1",
        "~ attn, context, out  3 values inherited",
    ]
    assert "~ mlp  2 values inherited, 1 missing" in tree
    assert "~ blocks.1  20 values inherited" in tree
    assert "~ blocks.1, blocks.0  70 values inherited" in tree  # backward


def test_all_right_is_a_few_lines_and_tells_how_near_the_limit_is() -> None:
    text = written(fine())
    assert text.startswith("135 values compared: all agree, within what rounding explains.\n")
    assert "✓ blocks.0, blocks.1  41 values right" in text
    assert "✗" not in text
    assert (
        "Farthest of the right ones: blocks.1.mlp.out, off by 3.1e-6; rounding explains 8e-6: fine."
        in words(text)
    )
    assert text.splitlines()[-1] == "Fine: 135 right. 0.4 s."


def test_a_wrong_value_is_told_with_its_numbers_and_both_formulas() -> None:
    lines = written(scaled()).splitlines()
    start = lines.index(SCORES)
    assert [line.strip() for line in lines[start + 1 : start + 9]] == [
        "yours -0.007025, right -0.01217  at b 1, h 0, t 1, s 2",
        "off by 0.0051; rounding explains 8e-6",
        "149 of 150 entries farther off than that",
        "SCALE-1  You divided by sqrt(d_model) (3.464), not by sqrt(d_k) (2). Divide",
        "by sqrt(d_k), the square root of the width of a head.",
        f"right    {SCALE.right}",
        f"yours    {SCALE.formula}",
        SCALE.link,
    ]


def test_the_same_mistake_in_every_block_is_told_once() -> None:
    text = written(scaled(2))
    assert "It is the same in both blocks." in words(text)
    assert f"\n{SCORES}  in both blocks\n" in text
    assert f"\n{OTHERS}" not in text
    assert text.count(SCALE.link) == 1
    assert "✗ blocks.1  attention.scores again  19 values inherited" in text


def test_another_mistake_is_told_too() -> None:
    report = with_verdict(
        scaled(2), "norm.out", status=Status.WRONG, since=(), hints=("each row is twice its size",)
    )
    text = words(written(report))
    assert "Besides, norm.out is wrong in another way." in text
    assert "The mistake is unknown, but: each row is twice its size." in text
    assert "✗ out wrong: unknown mistake" in text


def test_a_part_stands_where_its_last_value_is_computed() -> None:
    verdicts = (
        Verdict("blocks.0.w", Status.MISSING),  # weights are given first
        Verdict("x", Status.RIGHT),
        Verdict("blocks.0.out", Status.WRONG),
    )
    lines = written(Report("case", "dump", verdicts)).splitlines()
    assert [line.strip("├└─│ ") for line in lines[4:8]] == [
        "✗ forward", "✓ x  right", "✗ blocks.0", "· w  missing",
    ]  # fmt: skip


def test_what_is_missing_side_by_side_is_one_line() -> None:
    missing = ("blocks.0.norm.out", "blocks.0.mlp.pre", "blocks.0.mlp.out", "blocks.0.mid")
    verdicts = (
        *(Verdict(path, Status.MISSING) for path in missing),
        Verdict("blocks.0.out", Status.WRONG),
        Verdict("blocks.1.mlp.out", Status.MISSING),
        Verdict("norm.out", Status.MISSING),
    )
    lines = written(Report("case", "dump", verdicts)).splitlines()
    assert [line.strip("├└─│ ") for line in lines[4:9]] == [
        "✗ forward", "✗ blocks.0", "· norm.out, mlp, mid  4 values missing",
        "✗ out  wrong: unknown mistake", "· blocks.1.mlp.out, norm.out  2 values missing",
    ]  # fmt: skip


def test_of_very_many_mistakes_the_first_are_told() -> None:
    many = tuple(Verdict(f"part_{at}.out", Status.WRONG) for at in range(15))
    text = written(Report("case", "dump", many))
    assert "\npart_11.out\n" in text
    assert "\npart_12.out\n" not in text
    assert "\nand 3 mistakes more\n" in text
    assert "part_1.out, part_2.out, part_3.out and 11 more are wrong in another way" in words(text)


def test_names_left_aside_are_told_by_their_reason() -> None:
    aside = {f"h.{at}.attn.bias": "no weight of the model" for at in range(6)}
    text = words(written(replace(fine(), aside={**aside, "hook_z": "nothing like it"})))
    assert "Left aside: h.0.attn.bias, h.1.attn.bias, h.2.attn.bias and 3 more: no we" in text
    assert "Left aside: hook_z: nothing like it." in text
    assert "\nFine: " in written(replace(fine(), aside=aside))


def test_what_one_value_cannot_tell_apart_is_a_set() -> None:
    both = (SCALE, replace(SCALE, id="SCALE-5", wrong="You divided by sqrt(n_heads * d_k)"))
    text = words(written(with_verdict(scaled(), SCORES, causes=both)))
    assert "One of 2, which this value doesn't tell apart: You divided by sqrt(d_model)" in text
    assert "Or: You divided by sqrt(n_heads * d_k)." in text
    assert "wrong: SCALE-1 or SCALE-5" in text
    assert "one of 2 mistakes, which this value doesn't tell apart:" in text


def test_a_mistake_at_an_earlier_value_says_where() -> None:
    cause = replace(SCALE, at="blocks.0.attention.q_rot")
    text = words(written(with_verdict(scaled(), SCORES, causes=(cause,))))
    assert "It was made at blocks.0.attention.q_rot, which isn't in the dump." in text


def test_a_gradient_that_is_wrong_alone_says_that_forward_is_right() -> None:
    path = "blocks.1.mlp.d_post"
    report = with_verdict(fine(), path, status=Status.WRONG, causes=(replace(SCALE, at=path),))
    text = written(report)
    assert text.startswith(f"The forward pass is right. {path} is the first step that differs.")
    assert "✓ forward" in text


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (Status.LAYOUT, "is right, but written in another way. It was written as i b t."),
        (Status.UNREADABLE, "can't be compared. It was written as i b t."),
    ],
)
def test_what_lies_otherwise_or_cannot_be_read_says_why(status: Status, said: str) -> None:
    report = with_verdict(fine(), "norm.out", status=status, hints=("It was written as i b t",))
    text = words(written(report))
    assert text.startswith(f"norm.out {said}")
    assert "unknown mistake" not in text


def test_a_number_that_is_none_is_shown_as_it_is() -> None:
    nan = Difference(float("nan"), 1.5, float("inf"), 1e-7, (0, 1, 2), 5, 120)
    text = written(with_verdict(fine(), "norm.out", status=Status.WRONG, local=nan))
    assert "yours nan, right 1.5  at b 0, t 1, i 2" in text
    assert "off by inf; rounding explains 1e-7" in text


def test_unknown_names_are_told_with_near_ones_and_are_not_fine() -> None:
    report = replace(fine(), unknown={"blocks.0.scors": (SCORES, OTHERS), "zz": ()})
    text = words(written(report))
    assert text.startswith("135 values compared: all agree. But 2 names were not compared")
    assert f"Unknown name blocks.0.scors; did you mean {SCORES} or {OTHERS}?" in text
    assert "Unknown name zz." in text
    assert "Not fine: 135 right" in text


def test_nothing_compared_is_never_fine() -> None:
    text = written(nothing())
    assert text.startswith("Nothing was compared")
    assert "· forward  55 values missing" in text
    assert text.splitlines()[-1] == "Not fine: 135 of 135 values not in the dump."


def test_names_of_others_stay_in_their_lines() -> None:
    report = replace(
        with_verdict(scaled(), SCORES, called=HOSTILE, note=f"read from {HOSTILE}"),
        unknown={HOSTILE: (HOSTILE,)}, dump=HOSTILE, case=HOSTILE,
    )  # fmt: skip
    text = written(report, force_terminal=False)
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert "\\x1b[2J" in text


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    report = replace(scaled(2), unknown={"x" * 90: ()})
    for line in written(report, width).splitlines():
        assert len(line) <= width or line.strip() == SCALE.link


def test_colours_tell_right_wrong_and_inherited() -> None:
    text = written(scaled(), force_terminal=True, color_system="standard", _environ={})
    wrong, right, inherited = "\x1b[1;31m✗", "\x1b[32m✓", "\x1b[33m~"
    assert all(mark in text for mark in (wrong, right, inherited))
    assert "\x1b[1;31md_model\x1b[0m" in text  # what the right formula doesn't have
    assert "\x1b[1;32md_k\x1b[0m" in text
