"""The formulas of one update of several weights, put together from those of training."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from handformer.formula import Sheet
from handformer.train import clipping, optimizer, schedule, step

_AXES = ("", "[j]", "[i,j]")


def update(
    ranks: Mapping[str, int], taking: Sequence[str], *, adam: bool, wave: bool, scaled: bool
) -> Sheet:
    """The formulas of one update, from the micro-batches' losses and gradients to new weights.

    Parameters
    ----------
    ranks
        of every weight, by path, how many axes it has: vectors don't decay
    taking
        the paths of those that take part; the others stay as they are
    adam
        AdamW, or SGD with momentum
    wave
        half a cosine wave follows the warm-up, or the rate stays
    scaled
        the gradients are given times `loss_scale`
    """
    total = "total := " + " + ".join(f"squares.{path}" for path in taking)
    parts = [
        *([_unscaled(ranks, taking)] if scaled else []),
        step.FORMULAS.only("loss").rename(counts="micro.counts", losses="micro.losses"),
        *(_summed(path, ranks[path]) for path in taking),
        *(_clipping(path, ranks[path], "square") for path in taking),
        Sheet.parse(total) + clipping.FORMULAS.only("norm", "factor"),
        *(_clipping(path, ranks[path], "clipped") for path in taking),
        (schedule.COSINE_FORMULAS if wave else schedule.CONSTANT_FORMULAS).rename(
            rate="lr", lr="peak_lr"
        ),
        *(_new(path, rank, adam, path in taking) for path, rank in ranks.items()),
        _apart(ranks, taking),
    ]
    return sum(parts, Sheet(()))


def _letters(rank: int) -> dict[str, str]:
    return {} if rank == 2 else {"i": ""}


def _summed(path: str, rank: int) -> Sheet:
    names = {"counts": "micro.counts", "d_each": f"micro.grads.{path}", "d_w": f"grads.{path}"}
    return step.FORMULAS.only("d_w").rename(**names, **_letters(rank))


def _clipping(path: str, rank: int, name: str) -> Sheet:
    names = {kind: f"{to}.{path}" for kind, to in
             (("d_w", "grads"), ("square", "squares"), ("clipped", "clipped"))}  # fmt: skip
    return clipping.FORMULAS.only(name).rename(**names, **_letters(rank))


def _new(path: str, rank: int, adam: bool, taking: bool) -> Sheet:
    """A weight's moments, and the weight itself after the update."""
    moments = ("m", "v") if adam else ("velocity",)
    if not taking:
        staying = [f"{name}.{path}{_AXES[rank]}" for name in (*moments, "params")]
        counter = [f"updates.{path}"] if adam else []
        return Sheet.parse("\n".join(f"{one} = before.{one}" for one in (*counter, *staying)))
    own = ("m_hat", "v_hat", "decayed")
    names = {
        "w": f"before.params.{path}", "w_new": f"params.{path}", "d_w": f"clipped.{path}",
        "step": f"updates.{path}",
        **{name: f"before.{name}.{path}" for name in moments},
        **{f"{name}_new": f"{name}.{path}" for name in moments},
        **{name: f"{name}.{path}" for name in own},
    }  # fmt: skip
    sheet = optimizer.FORMULAS if adam else optimizer.SGD_FORMULAS
    sheet = sheet if rank == 2 else sheet.without("weight_decay")
    number = Sheet.parse(f"updates.{path} = before.updates.{path} + 1" if adam else "")
    return number + sheet.rename(**names, **_letters(rank))


def _unscaled(ranks: Mapping[str, int], taking: Iterable[str]) -> Sheet:
    places = ("[b]", "[b,j]", "[b,i,j]")
    return Sheet.parse("\n".join(
        f"micro.grads.{path}{places[ranks[path]]} = "
        f"micro.scaled.{path}{places[ranks[path]]} / loss_scale"
        for path in taking
    ))  # fmt: skip


def _apart(ranks: Mapping[str, int], taking: Sequence[str]) -> Sheet:
    """The norm of each micro-batch alone: the update doesn't use it, who clips too early does."""

    def lines() -> Iterator[str]:
        for path in taking:
            over, places = ("i, j", "[b,i,j]") if ranks[path] == 2 else ("j", "[b,j]")
            one = f"micro.grads.{path}{places}"
            yield f"micro.squares.{path}[b] := sum({over}, {one} * {one})"
        squares = " + ".join(f"micro.squares.{path}[b]" for path in taking)
        yield f"micro.norm[b] := sqrt({squares})"

    return Sheet.parse("\n".join(lines()))
