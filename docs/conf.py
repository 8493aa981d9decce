"""How the site is built: ``make docs`` runs Sphinx with this file, warnings are errors."""

from __future__ import annotations

import os
import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]
os.environ.setdefault("MPLBACKEND", "Agg")

import numpy as np  # noqa: E402
import reference  # noqa: E402  (its folder has just been put on the path)
from docutils import nodes  # noqa: E402
from PIL import Image, ImageOps  # noqa: E402
from pygments.lexers.special import TextLexer  # noqa: E402
from sphinx.util.nodes import make_refnode  # noqa: E402

import exactfit  # noqa: E402

project = "exactfit"
author = "the exactfit developers"
copyright = author
release = version = exactfit.__version__
reference.write(HERE / "api")  # before Sphinx looks which pages there are

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "numpydoc",
]
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
root_doc = "index"

# Markdown
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3  # links to sections are checked as links to pages are
myst_url_schemes = ("http", "https", "mailto")

# Names: every cross-reference has to lead somewhere
nitpicky = True
nitpick_ignore_regex = [
    # Other packages' names: checking them would need their inventories, and so a network.
    (r"py:.*", r"(numpy|scipy|sklearn|matplotlib|pandas|dask|distributed|onnx|torch|joblib)\..*"),
    # Base classes that scikit-learn and the standard library bring along.
    (r"py:.*", r"(BaseEstimator|ClassifierMixin|Exception|ValueError|UserWarning|enum\..*|collections\..*|typing\..*)"),
]
autosummary_generate = True
autodoc_typehints = "none"  # docstrings say types in words; signatures stay short
numpydoc_show_class_members = False  # the template of a class lists them
numpydoc_xref_param_type = False  # types are words, not names

# Pictures
THUMBNAIL = 400, 280  # pixels
sphinx_gallery_conf = {
    "thumbnail_size": THUMBNAIL,
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 10_000,  # times belong to the machine, not to the page,
    "write_computation_times": False,  # and the page of times would load scripts from elsewhere
    "plot_gallery": "True",
    "abort_on_example_error": True,
    "matplotlib_animations": True,
}

# What a browser gets: nothing from elsewhere, MathJax included
_mathjax = find_spec("sphinx-mathjax-offline")
assert _mathjax is not None
assert _mathjax.origin is not None
html_static_path = ["_static", str(Path(_mathjax.origin).parent / "static" / "mathjax" / "tex-svg.js")]
mathjax_path = "tex-svg.js"
html_css_files = ["exactfit.css"]
html_theme = "pydata_sphinx_theme"
html_title = "exactfit"
html_favicon = "_static/icon.svg"
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": [],
    "footer_end": ["sphinx-version"],
    "logo": {"text": "exactfit"},
}
html_sidebars = {"index": [], "getting-started": []}


# Pages that a forge looks for beside the README. Links to them lead to where the site includes them.
_OUTSIDE = {f"](../{name.upper()}.md": f"]({name}.md" for name in ("changelog", "contributing", "security")}


def _point_inside(app, name, source):
    for outside, inside in _OUTSIDE.items():
        source[0] = source[0].replace(outside, inside)


def _link_names(app, doctree, page):
    """Let names of exactfit in code lead to their pages, also without ``exactfit.`` before them."""
    known = app.env.get_domain("py").objects
    for literal in [*doctree.findall(nodes.literal)] if not page.startswith(("api/", "gallery/")) else ():
        name = literal.astext().removesuffix("()")
        full = next((each for each in (name, f"exactfit.{name}") if each in known), None)
        if full and not isinstance(literal.parent, nodes.reference | nodes.title):
            entry = known[full]
            link = make_refnode(app.builder, page, entry.docname, entry.node_id, literal.deepcopy(), full)
            literal.replace_self(link)


def _first_panel(picture):
    """Of a row of panels the first, up to the blank behind it; of a strip without blanks what a thumbnail holds."""
    grey = np.asarray(picture.convert("L"))
    height, width = grey.shape
    wanted = height * THUMBNAIL[0] // THUMBNAIL[1]
    if width <= 1.2 * wanted:
        return picture
    blank = np.flatnonzero((grey > 250).all(axis=0))
    gaps = [gap for gap in np.split(blank, np.flatnonzero(np.diff(blank) > 1) + 1) if len(gap) > 2]
    ends = [int(gap.mean()) for gap in gaps if 0.6 * wanted < gap.mean() < 1.6 * wanted]
    return picture.crop((0, 0, min(ends, default=wanted if width > 1.7 * wanted else width), height))


def _crop_thumbnails(app):
    """A small picture shows one panel that can be made out, not all of them as a thin strip."""
    for script in sorted((HERE.parent / "examples").glob("*.py")):
        named = re.search(r'sphinx_gallery_thumbnail_path = "(.+)"', script.read_text(encoding="utf-8"))
        images = HERE / "gallery" / "images"
        whole = HERE / named[1] if named else images / f"sphx_glr_{script.stem}_001.png"
        if whole.is_file():
            with Image.open(whole) as picture:
                panel = ImageOps.pad(_first_panel(picture.convert("RGB")), THUMBNAIL, Image.Resampling.LANCZOS, "white")
            panel.save(images / "thumb" / f"sphx_glr_{script.stem}_thumb.png")


def _copy_playground(app, error):
    """The page itself, beside the page about it."""
    if error is None and app.builder.format == "html":
        page = Path(exactfit.__file__).parent / "playground" / "page"
        shutil.copytree(page, Path(app.outdir) / "playground", dirs_exist_ok=True)


def setup(app):
    app.connect("build-finished", _copy_playground)
    app.add_lexer("csv", TextLexer)  # Pygments knows none; the name tells a test which block is the table
    app.connect("source-read", _point_inside)
    app.connect("doctree-resolved", _link_names)
    app.connect("builder-inited", _crop_thumbnails, priority=900)  # when the gallery has been run
