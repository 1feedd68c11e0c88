"""A run's losses as a picture: training faint, because one batch is noise; validation in front."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from handformer.errors import InputError
from handformer.train import log, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, SOFT, FAINT = "#1f2933", "#66727f", "#e4e8ec"
TRAINING, VALIDATION = "#a9c5e4", "#c2410c"
SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "handformer",  # ids inside the file follow from this, not from chance
    "svg.fonttype": "path",  # the same look everywhere, whatever fonts a viewer has
    "savefig.dpi": 150,
    "path.simplify": True,
    "path.simplify_threshold": 0.2,
    "font.family": ["DejaVu Sans"],  # comes with matplotlib
    "font.size": 9.5,
    "text.color": INK,
    "axes.labelcolor": SOFT,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
}

Points = Sequence[tuple[int, float]]


def write_loss(log_path: Path, path: Path) -> None:
    """Draw the losses of a log: `loss` (training) and `validation_loss` over `step`.

    Equal logs give equal bytes; the file is written whole or not at all. Its name ends in .svg,
    .png or .pdf.

    Raises
    ------
    InputError
        if the log can't be read or holds no loss, or for another ending
    OSError
        if the picture can't be written
    """
    # Imported here: it takes longer than everything else that a command imports.
    from matplotlib import rc_context  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    picture.kind(path)
    entries = log.read(log_path)
    training, validation = (
        [(entry["step"], entry[key]) for entry in entries if entry.get(key) is not None]
        for key in ("loss", "validation_loss")
    )
    if not training and not validation:
        raise InputError(f"{log_path}: no line holds a loss: there is nothing to draw yet")
    with rc_context(SETTINGS):
        figure = Figure(figsize=(7.2, 4.2), layout="constrained")
        _draw(figure.add_subplot(), training, validation)
        picture.write(figure, path)


def _draw(axes: "Axes", training: Points, validation: Points) -> None:
    from matplotlib.patheffects import withStroke  # noqa: PLC0415
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter  # noqa: PLC0415

    for points, color, width, dot, name in (
        (training, TRAINING, 0.8, 0.0, "training, each batch"),
        (validation, VALIDATION, 2.0, 5.5, "validation"),
    ):
        if points:
            alone = 5.5 if len(points) == 1 else dot
            axes.plot(
                *zip(*points, strict=True),
                color=color,
                linewidth=width,
                marker="o",
                markersize=alone,
                markeredgewidth=1.0,
                markeredgecolor="white",
                solid_joinstyle="round",
                label=name,
                clip_on=False,
            )
    if validation:
        step, best = min(validation, key=lambda point: point[1])
        axes.annotate(
            f"{best:.3f}",
            (step, best),
            xytext=(0, 8),
            textcoords="offset points",
            ha="center",
            color=VALIDATION,
            fontweight="bold",
            path_effects=[withStroke(linewidth=3, foreground="white")],
        )
    axes.set_xlabel("updates", labelpad=6)
    axes.set_ylabel("loss (nats per token)", labelpad=8)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10], integer=True))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, pad=6)
    axes.margins(x=0.02, y=0.08)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.2, ncols=2)
