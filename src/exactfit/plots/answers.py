"""Pictures of answers: the training points behind them, their margins and radii; importances and suspects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._support.console import counted
from .._support.parameters import check_integer, check_integers, shown
from ..certificate import Certificate
from ..data import as_labels, as_points, refuse_other_features
from ..data.matrices import dense_rows
from ..exceptions import DataError, ParameterError
from ..explanation import Explanation, Explanations
from ..geometry.neighbours import NOBODY
from ..suspects import Suspects
from .plane import Floats, check_fitted
from .regions import plot_regions
from .style import GREY, INK, axes_for, check_kind, color, documented, marker

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Shape = tuple[int, int]

LEAST_ANSWERED = 0.5  # where curves begin: accuracy on fewer answers is mostly chance
GAP = 0.12  # between tiles, in widths of a tile
CAPTION = 0.30  # below a tile, in heights of a tile
INCHES = 0.95  # width of a tile


@documented
def plot_explanation(
    model: Any, point: ArrayLike, X: ArrayLike, y: ArrayLike, ax: Axes | None = None, *,
    detectors: int = 5, resolution: int = 400,
) -> Axes:  # fmt: skip
    """Draw a model's regions in the plane, a point, and the training points that its answer rests on.

    Lines lead from the point to the anchors of the detectors that fire (drawn through), or that came
    closest (dashed); rings are the training points of other classes that set these detectors' limits.

    Parameters
    ----------
    model : InterpolatingClassifier
        Fitted to two features.
    point : array of shape (2,)
    {training}
    detectors : int
        How many at most, the clearest first.
    {resolution}

    {axes}

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from exactfit import InterpolatingClassifier
    >>> from exactfit.plots import plot_explanation
    >>> X, y = make_moons(100, noise=0.05, random_state=0)
    >>> model = InterpolatingClassifier(random_state=0).fit(X, y)
    >>> ax = plot_explanation(model, [0.0, 0.5], X, y, resolution=50)
    >>> ax.get_title().startswith("class 0" if model.predict([[0.0, 0.5]])[0] == 0 else "class 1")
    True
    """
    check_fitted(model)
    if not hasattr(model, "explain"):
        raise ParameterError(f"answers of an InterpolatingClassifier can be explained, got {type(model).__name__}")
    here = dense_rows(as_points([point], "point"), slice(None))[0]
    refuse_other_features(len(here), 2, "point", "picture")
    check_integer("detectors", detectors, at_least=0)
    # Anchors and witnesses are rows of the training data.
    known = dense_rows(as_points(X), slice(None))
    one = model.explain(here[None, :])[0]
    ax = plot_regions(model, X, y, ax=ax, resolution=resolution, anchors=False)
    for found in (one.fires or one.nearest)[:detectors]:
        anchor, line = known[found.anchor], "solid" if one.fires else "dashed"
        ax.plot(*np.stack([here, anchor]).T, color=INK, linestyle=line, linewidth=1.0, zorder=5)
        ax.plot(*anchor, marker="*", ms=13, color=INK, mec="white", mew=0.8, zorder=6)
        ax.plot(*known[found.witness], "o", ms=11, mfc="none", mec=INK, mew=1.2, zorder=6)
    ax.plot(*here, marker="X", ms=11, color=INK, mec="white", mew=1.2, zorder=7)
    fires = f"{len(one.fires)} detectors fire" if len(one.fires) > 1 else "one detector fires"
    ax.set_title(f"class {one.label}: {fires if one.fires else 'no detector fires (dashed: the closest)'}")
    return ax


@documented
def plot_coverage(models: Mapping[str, Any], X: ArrayLike, y: ArrayLike, ax: Axes | None = None) -> Axes:
    """Draw how often models are right if they answer only what is clear.

    A line for each model: answers are given in the order of their margin, the largest slack of a class
    less the second largest. A marker shows the rule of ``abstains``: only points that exactly one class claims.

    Parameters
    ----------
    models : mapping of str to InterpolatingClassifier
        Fitted, every class with detectors.
    X : array of shape (n_samples, n_features)
        Points that the models have not seen.
    y : array of shape (n_samples,)
    {drawn}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from exactfit import InterpolatingClassifier
    >>> from exactfit.plots import plot_coverage
    >>> X, y = load_digits(return_X_y=True)
    >>> model = InterpolatingClassifier(random_state=0).fit(X[:1000], y[:1000])
    >>> ax = plot_coverage({"adaptive": model}, X[1000:], y[1000:])
    >>> ax.get_xlabel()
    'fraction of points answered'
    """
    if not isinstance(models, Mapping):
        raise ParameterError(f"models must map names to fitted classifiers, got {type(models).__name__}")
    for model in models.values():
        check_fitted(model)
    labels = as_labels(y, as_points(X).shape[0])
    with axes_for(ax) as axes:
        for k, (name, model) in enumerate(models.items()):
            right = np.asarray(model.predict(X) == labels)
            scores = np.asarray(model.decision_function(X))
            # The margin of an answer: the largest score less the second, or the size of a single one.
            first, second = (np.abs(scores), 0.0) if scores.ndim == 1 else np.sort(scores, axis=1)[:, :-3:-1].T
            margins = first - second
            order = np.argsort(-margins, kind="stable")
            # Points of equal margin are answered together.
            last = np.append(np.diff(margins[order]) != 0, True)
            counts = np.arange(1, len(right) + 1)
            answered, accuracy = (counts / len(right))[last], (np.cumsum(right[order]) / counts)[last]
            drawn = answered >= LEAST_ANSWERED
            axes.plot(answered[drawn], accuracy[drawn], color=color(k), label=name)
            clear = ~model.abstains(X)
            axes.plot(clear.mean(), right[clear].mean(), marker(k), color=color(k), ms=9, mec="white")
        axes.set(xlabel="fraction of points answered", ylabel="fraction of these answers that are right")
        axes.grid(color=GREY, alpha=0.25)
        axes.legend(title="marker: exactly one class claims the point", loc="lower left")
    return axes


@documented
def plot_importances(model: Any, names: Sequence[str] | None = None, ax: Axes | None = None, *, most: int = 20) -> Axes:
    """Draw how much each feature matters to a model, the largest first.

    Parameters
    ----------
    model : InterpolatingClassifier or TableModel
        Fitted: whatever has ``feature_importances_``.
    names : sequence of str, optional
        Of the features; by default those that the model was fitted to, or x0, x1 and so on.
    {ax}
    most : int
        How many bars at most; what the others have together is said below.

    {axes}

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from exactfit import InterpolatingClassifier
    >>> from exactfit.plots import plot_importances
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> ax = plot_importances(InterpolatingClassifier(random_state=0).fit(X, y), most=5)
    >>> len(ax.patches), ax.get_xlabel()[:20]
    (5, 'importance (8 others')
    """
    check_fitted(model)
    check_integer("most", most, at_least=1)
    importances = np.asarray(model.feature_importances_)
    if names is None:
        names = getattr(model, "feature_names_in_", [f"x{k}" for k in range(len(importances))])
    named = list(map(str, names))
    if len(named) != len(importances):
        raise ParameterError(f"names must be one for each of {len(importances)} features, got {len(named)}")
    order = np.argsort(-importances, kind="stable")
    first, rest = order[:most], order[most:]
    with axes_for(ax, (5.6, 1.0 + 0.27 * len(first))) as axes:
        bars = axes.barh(range(len(first)), importances[first], height=0.7, color=color(0))
        axes.bar_label(bars, fmt="{:.1%}", padding=3, fontsize=8, color=INK)
        axes.set_yticks(range(len(first)), [named[k] for k in first])
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        axes.margins(x=0.12, y=0.02)
        others = f" ({counted(len(rest), 'other')}: {importances[rest].sum():.1%} together)" if len(rest) else ""
        axes.set_xlabel(f"importance{others}")
        axes.xaxis.set_major_formatter("{x:.0%}")
    return axes


@documented
def plot_radii(certificates: Certificate | Mapping[str, Certificate], ax: Axes | None = None) -> Axes:
    """Draw how many points are proved to keep their answers when they move so far.

    A line for each certificate; where a network has a margin, a dashed line at it. Points that are wrong or given up
    may not move at all: a line begins below 1 then.

    Parameters
    ----------
    certificates : Certificate, or mapping of str to Certificate
        With ``radii``: as ``certify(..., radii=True)`` makes them.
    {drawn}

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from exactfit import InterpolatingClassifier, certify
    >>> from exactfit.plots import plot_radii
    >>> X, y = make_moons(60, noise=0.05, random_state=0)
    >>> models = {name: InterpolatingClassifier(margin=name, random_state=0).fit(X, y) for name in ("0%", "50%")}
    >>> ax = plot_radii({name: certify(model, X, y, radii=True) for name, model in models.items()})
    >>> ax.get_xscale(), [text.get_text() for text in ax.get_legend().get_texts()]
    ('log', ['0%', '50%'])
    """
    named = certificates if isinstance(certificates, Mapping) else {"": certificates}
    if not all(isinstance(one, Certificate) and one.radii is not None for one in named.values()):
        raise ParameterError("this picture is of certificates with radii, as certify(..., radii=True) makes them")
    with axes_for(ax) as axes:
        for k, (name, one) in enumerate(named.items()):
            # The k-th smallest radius is reached by all points but k - 1; points of radius zero are never drawn.
            radii = np.asarray(one.radii)
            above = np.sort(radii[radii > 0])
            fractions = np.arange(len(above), 0, -1) / max(len(radii), 1)
            axes.step(above, fractions, where="pre", color=color(k), label=name)
            if one.margin:
                axes.axvline(one.margin, color=color(k), linestyle="dashed", linewidth=1.0)
        axes.set(xscale="log", ylim=(0, 1.02), xlabel="distance", ylabel="fraction of points that may move so far")
        axes.grid(color=GREY, alpha=0.25)
        if any(named):
            axes.legend(loc="lower left")
    return axes


@documented
def plot_anchors(
    explanations: Explanations | Sequence[Explanation], points: ArrayLike, X: ArrayLike, *,
    image_shape: Shape, anchors: int = 5, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw images beside the training images that their answers rest on.

    A line for each point: the image with its answer; the anchors of the detectors that fire, the clearest
    first (or of those that came closest, where none does); then the other class that came closest: the
    anchor of its clearest detector, and the training image that set that detector's limit.

    Parameters
    ----------
    explanations : Explanations
        Of the points; see ``InterpolatingClassifier.explain``.
    points : array of shape (n_points, n_pixels)
    X : array of shape (n_samples, n_pixels)
        The training data.
    image_shape : tuple of int
        Height and width of an image.
    anchors : int
        How many at most.
    {drawn}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from exactfit import InterpolatingClassifier
    >>> from exactfit.plots import plot_anchors
    >>> X, y = load_digits(return_X_y=True)
    >>> model = InterpolatingClassifier(random_state=0).fit(X[:500], y[:500])
    >>> ax = plot_anchors(model.explain(X[500:503]), X[500:503], X[:500], image_shape=(8, 8))
    >>> len(ax.images) >= 6
    True
    """
    given = list(explanations) if isinstance(explanations, Sequence) else []
    if not given or not all(isinstance(one, Explanation) for one in given):
        raise ParameterError("this picture is of Explanations, as model.explain makes them")
    check_integer("anchors", anchors, at_least=0)
    seen, known = _as_images(points, image_shape), _as_images(X, image_shape)
    lines = []
    for one, image in zip(given, seen, strict=True):
        behind = (one.fires or one.nearest)[:anchors]
        line = [(image, f"answer {one.label}")]
        line += [(known[found.anchor], f"{found.label}: {found.slack:+.2f}") for found in behind]
        if one.other:
            line.append((known[one.other.anchor], f"other {one.other.label}: {one.other.slack:+.2f}"))
            line.append((known[one.other.witness], "its limit"))
        lines.append(line)
    ax = _draw_images(lines, ax)
    for caption in ax.texts:
        if caption.get_text().startswith("answer"):
            caption.set_fontweight("bold")
    return ax


@documented
def plot_suspects(
    suspects: Suspects, X: ArrayLike, *, image_shape: Shape, m: int = 40, columns: int = 10, ax: Axes | None = None
) -> Axes:
    """Draw the rows whose labels look most suspicious, with their label and that of the nearest other row.

    Parameters
    ----------
    suspects : Suspects
    X : array of shape (n_samples, n_pixels)
    image_shape : tuple of int
        Height and width of an image.
    m, columns : int
        How many images, and how many in a line.
    {drawn}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from exactfit import find_suspects
    >>> from exactfit.plots import plot_suspects
    >>> X, y = load_digits(return_X_y=True)
    >>> ax = plot_suspects(find_suspects(X, y, random_state=0), X, image_shape=(8, 8), m=6, columns=3)
    >>> len(ax.images)
    6
    """
    check_kind(suspects, Suspects, "find_suspects")
    check_integer("columns", columns, at_least=1)
    images, places = _as_images(X, image_shape), suspects.places(suspects.top(m))
    tiles = []
    for place in places:
        nearest = int(suspects.conflicts[place, 0])
        other = "" if nearest == NOBODY else f", near {suspects.labels[suspects.places(nearest)]}"
        tiles.append((images[place], f"{suspects.labels[place]}{other}"))
    return _draw_images([tiles[low : low + columns] for low in range(0, len(tiles), columns)], ax)


def _as_images(points: ArrayLike, image_shape: Shape) -> Floats:
    """Return rows of pixels as images."""
    sides = check_integers("image_shape", image_shape, at_least=1)
    if len(sides) != 2:
        raise ParameterError(f"image_shape must be height and width of an image, got {shown(image_shape)}")
    rows: Floats = dense_rows(as_points(points, "images"), slice(None))
    pixels = sides[0] * sides[1]
    if rows.shape[1] != pixels:
        raise DataError(f"images of shape {image_shape} have {pixels} pixels, got points of shape {rows.shape}")
    return rows.reshape(-1, *sides)


def _draw_images(lines: Sequence[Sequence[tuple[Floats, str]]], ax: Axes | None) -> Axes:
    """Draw lines of images with captions, from the top."""
    # All in one axes, where an image is one unit wide and high, so that a caller can place the whole grid.
    width = max(map(len, lines), default=1) * (1 + GAP)
    height = max(len(lines), 1) * (1 + CAPTION)
    with axes_for(ax, (INCHES * width, INCHES * height)) as axes:
        from matplotlib.patches import Rectangle

        for down, line in enumerate(lines):
            for across, (pixels, caption) in enumerate(line):
                left, bottom = across * (1 + GAP), -down * (1 + CAPTION)
                box = (left, left + 1, bottom, bottom + 1)
                axes.imshow(pixels, cmap="gray_r", extent=box, interpolation="nearest")
                axes.add_patch(Rectangle((left, bottom), 1, 1, fill=False, edgecolor=GREY, linewidth=0.5))
                axes.text(left + 0.5, bottom + 1.04, caption, ha="center", va="bottom", fontsize=7, color=INK)
        axes.set(xlim=(-GAP, width), ylim=(1 + CAPTION - height - GAP, 1 + CAPTION), aspect="equal")
        axes.set_axis_off()
    return axes
