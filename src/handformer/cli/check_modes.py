"""What can be asked of `handformer check`, and which options each question takes."""

from collections.abc import Mapping

from handformer.errors import InputError

DUMP = "THEIRS"
TAKES: dict[str, frozenset[str]] = {
    "--list": frozenset({"--json"}),
    "--write": frozenset({"--json"}),
    "--op": frozenset({"--with", "--with-command", "--direction", "--json"}),
    "--kv-cache": frozenset({DUMP, "--padding", "--json"}),
    "--padding": frozenset({DUMP, "--kv-cache", "--json"}),
    "--invariants": frozenset({DUMP, "--json", "--watch"}),
    "--against": frozenset({DUMP, "--names", "--json", "--junit", "--html", "--watch"}),
}


def mode(options: Mapping[str, object]) -> str:
    """Which question is asked, told by the first of its options that is given.

    Raises
    ------
    InputError
        for none, and for an option that the question doesn't take
    """
    given = [name for name, value in options.items() if value not in (None, False)]
    asked, *more = [one for one in TAKES if one in given] or [""]
    if not asked:
        raise InputError(_nothing_asked(given))
    for name in (*more, *given):
        if name == asked or name in TAKES[asked]:
            continue
        if name in TAKES:
            raise InputError(f"{asked} and {name}: ask one thing at a time")
        homes = " and ".join(one for one, takes in TAKES.items() if name in takes)
        raise InputError(f"{name} goes with {homes}, not with {asked}: leave it out")
    if DUMP in TAKES[asked] and DUMP not in given:
        raise InputError(f"no {DUMP}: {asked} needs its file or folder")
    return asked


def _nothing_asked(given: list[str]) -> str:
    for name in ("--with", "--with-command"):
        if name in given:
            return f"{name} stands in for an op: name it with --op, as in --op softmax"
    if DUMP not in given:
        return "no dump: give its file or folder, or --list for the ready-made cases"
    return "nothing to hold it against: give --against CASE (see --list), or ask --invariants"
