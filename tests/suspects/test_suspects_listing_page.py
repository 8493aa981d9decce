"""The page of suspects: whole, escape_controls, with pictures where rows are images."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest
from sklearn.datasets import load_digits

from exactfit import ParameterError, find_suspects, read_table

HOSTILE = "<script>alert(1)</script>"


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def test_hostile_cells_labels_and_names_are_text(tmp_path: Path) -> None:
    path = tmp_path / f"{HOSTILE.replace('/', '')}.csv"
    path.write_text(
        f'x,"{HOSTILE}",y\n' + "".join(f"{k},{HOSTILE},{'ab'[k % 2]}{HOSTILE}\n" for k in range(12)), encoding="utf-8"
    )
    table = read_table(path, label="y")
    page = find_suspects(table, k=2, random_state=0).to_html(3)
    read = Tags(page)
    assert "script" not in read.tags
    assert HOSTILE in read.text
    assert not [name for name, _ in read.attributes if name.startswith("on")]
    assert "http" not in page.replace("http-equiv", "")


def test_images_are_pictures() -> None:
    X, y = load_digits(return_X_y=True)
    found = find_suspects(X[:60], y[:60], random_state=0).of_table(read_table(X[:60]))
    read = Tags(found.to_html(4, image_shape=(8, 8)))
    assert read.tags.count("img") == 16  # each with the three rows that it contradicts
    assert ("alt", f"row {found.top(1)[0]}") in read.attributes
    with pytest.raises(ParameterError, match="images of shape 7,8 are 56 columns of numbers; the matrix has 64"):
        found.to_html(4, image_shape=(7, 8))
    with pytest.raises(ParameterError, match="one or three colours"):
        found.to_html(4, image_shape=(4, 8, 2))
