"""The playground, driven as a person would: in a headless Chromium."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from exactfit.playground import PAGE, Playground

BEGINNING = "Interpolates: all 120 points are right, with 100 hyperplanes, 5 detectors."

HOSTILE = [
    "<script>alert(1)</script>",
    "data=<img src=x onerror=alert(1)>",
    "data=moons&data=circles",
    "data=constructor",
    "__proto__=1",
    "constructor=1",
    "width=1e3",
    "width=Infinity",
    "width=-5",
    "width=0x10",
    "width=601",
    "seed=99999999999999999999",
    "margin=NaN",
    "margin=100",
    "classes=5",
    "points=1,2,0",
    "data=own&points=1,2",
    "data=own&points=9999,0,0",
    "data=own&points=0,0,7",
    "data=own&points=0,0,0_<b>1</b>",
    "data=own&points=" + "_".join(["0,0,0"] * 2001),
    "a" * 100_000,
    "%3Cscript%3Ealert(1)%3C/script%3E",
    "width=10&&&=&",
    "step=1;drop",
]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with Playground() as running:
        thread = Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running.address
        running.shutdown()
        thread.join(10)


def opened(tab: Any, address: str, state: str = "") -> Any:
    """The page with a state, its network built."""
    tab.goto(f"{address}#{state}")
    tab.wait_for_selector("body[data-outcome]")
    return tab


def settled(tab: Any) -> str:
    """The outcome after all that is under way."""
    tab.wait_for_timeout(500)  # longer than the pauses after which the page builds finely and writes its link
    tab.wait_for_selector("body[data-busy=no]")
    return str(tab.text_content("#outcome"))


def facts(tab: Any) -> dict[str, str]:
    names, values = tab.locator("#facts dt").all_text_contents(), tab.locator("#facts dd").all_text_contents()
    return dict(zip(names, values, strict=True))


def in_python(tab: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The construction that "Open in Python" ends in."""
    tab.click("#python")
    lines = tab.text_content("#lines")
    with tab.expect_download() as waiting:
        tab.click("#download")
    waiting.value.save_as(folder / waiting.value.suggested_filename)
    tab.click("#close")
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    exec(compile(lines, "lines", "exec"), names)
    return names["made"]


def assert_same_as_python(tab: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = settled(tab)
    made = in_python(tab, folder, monkeypatch)
    widths = made.network.widths
    shown = re.search(r"with (\d+) hyperplanes?, (\d+) detectors?", text)
    assert shown is not None
    assert (int(shown[1]), int(shown[2])) == widths[:2]
    assert text.startswith("Interpolates") == made.outcome.interpolates
    assert facts(tab)["Wrong"].split()[0] == str(len(made.trace.uncovered))
    assert facts(tab)["Neurons"] == str(made.network.n_neurons)
    assert tab.get_attribute("body", "data-outcome") == made.outcome.value


def click_at(tab: Any, x: float, y: float) -> None:
    """Click on the picture at a share of its sides."""
    box = tab.locator("#picture").bounding_box()
    tab.mouse.click(box["x"] + x * box["width"], box["y"] + y * box["height"])


def slide(tab: Any, name: str, share: float) -> None:
    """Drag a slider with the mouse to a share of its length."""
    tab.locator(f"#{name}").scroll_into_view_if_needed()
    box = tab.locator(f"#{name}").bounding_box()
    middle = box["y"] + box["height"] / 2
    tab.mouse.move(box["x"] + box["width"] / 2, middle)
    tab.mouse.down()
    for part in range(1, 6):
        tab.mouse.move(box["x"] + box["width"] * (0.5 + (share - 0.5) * part / 5), middle)
    tab.mouse.up()


def test_it_begins_with_a_network_that_interpolates(tab: Any, address: str) -> None:
    assert settled(opened(tab, address)) == BEGINNING
    assert tab.locator("#serve").is_hidden()
    assert tab.locator("#message").is_hidden()


def test_points_of_ones_own_end_in_pythons_network(
    tab: Any, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(tab, address)
    tab.click("#clear")
    assert "two classes at least" in settled(tab)
    for label, places in enumerate([[(0.2, 0.3), (0.7, 0.8)], [(0.5, 0.5), (0.25, 0.3)], [(0.8, 0.2)]]):
        tab.check(f"input[name=brush][value='{label}']", force=True)
        for place in places:
            click_at(tab, *place)
    assert re.search("(all|of) 5 points", settled(tab))
    assert_same_as_python(tab, tmp_path, monkeypatch)
    tab.check("input[name=brush][value='-1']", force=True)
    click_at(tab, 0.8, 0.2)
    assert re.search("(all|of) 4 points", settled(tab))


@pytest.mark.parametrize("detectors", ["mask", "weighted"])
def test_sliders_and_steps_end_in_pythons_network(
    tab: Any, address: str, detectors: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(tab, address, "data=spirals&classes=3")
    tab.check(f"input[name=detectors][value={detectors}]", force=True)
    slide(tab, "count", 0.2)
    slide(tab, "width", 0.12)
    slide(tab, "margin", 0.3)
    settled(tab)
    tab.click("#first")
    assert tab.input_value("#step") == "0"
    last = int(tab.get_attribute("#step", "max"))
    width, found = (int(facts(tab)[name].split()[-1]) for name in ("Hyperplanes", "Detectors"))
    assert last == width + found + 1
    open_pairs = []
    for step in range(1, last + 1):
        assert tab.is_enabled("#next")
        tab.click("#next")
        assert tab.input_value("#step") == str(step)
        tab.wait_for_timeout(25)
        open_pairs.append(int(facts(tab)["Open pairs"]))
    assert open_pairs == sorted(open_pairs, reverse=True)
    assert tab.is_disabled("#next")
    tab.wait_for_timeout(200)
    assert tab.text_content("#stage-name") == "The network"
    tab.click("#back")
    tab.wait_for_timeout(200)
    assert tab.text_content("#stage-name").startswith(f"Detector {found} of {found}")
    assert_same_as_python(tab, tmp_path, monkeypatch)


def test_adaptive_width_always_interpolates(
    tab: Any, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for state in ("data=chessboard&classes=4&algorithm=1", "data=line&algorithm=1&law=bisector&margin=50"):
        tab.goto("about:blank")
        assert settled(opened(tab, address, state)).startswith("Interpolates: all 120 points")
        assert_same_as_python(tab, tmp_path, monkeypatch)


def test_a_link_brings_everything_back(tab: Any, address: str, browser: Any) -> None:
    opened(tab, address, "data=circles&classes=3&width=77&law=bisector&order=rows&margin=10&seed=5")
    click_at(tab, 0.1, 0.1)
    tab.fill("#seed", "123")
    settled(tab)
    tab.click("#first")
    for _ in range(3):
        tab.click("#next")
    text, link = settled(tab), tab.url
    other = browser.new_context().new_page()
    other.goto(link)
    other.wait_for_selector("body[data-outcome]")
    assert settled(other) == text
    assert "all 121 points" in text or "of 121 points" in text
    assert (other.input_value("#seed"), other.input_value("#width"), other.input_value("#step")) == ("123", "77", "3")
    assert other.url == link
    other.context.close()


@pytest.mark.parametrize("link", HOSTILE, ids=lambda link: link[:30])
def test_a_hostile_link_gives_a_message_and_the_beginning(tab: Any, address: str, link: str) -> None:
    dialogs: list[str] = []
    tab.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    opened(tab, address, link)
    assert settled(tab) == BEGINNING
    message = tab.text_content("#message")
    assert re.fullmatch(r"The link cannot be opened: [\w ,:.-]+\. Here is the page as it begins\.", message)
    assert tab.locator("script").count() == 1
    assert tab.locator("#message *, #outcome *, img").count() == 0
    assert dialogs == []


def test_a_link_that_is_typed_into_an_open_page_counts_too(tab: Any, address: str) -> None:
    opened(tab, address)
    tab.goto(f"{address}#width=9")
    assert "with 9 hyperplanes" in settled(tab)
    tab.goto(f"{address}#width=nine")
    assert settled(tab) == BEGINNING
    assert tab.locator("#message").is_visible()


def test_every_control_is_reached_with_the_tab_key_and_shows_its_focus(tab: Any, address: str) -> None:
    opened(tab, address, "step=50")
    settled(tab)
    wanted = tab.evaluate(
        """() => [...document.querySelectorAll("button, select, input, canvas[tabindex]")]
            .filter((one) => !one.disabled && one.offsetParent && (one.type !== "radio" || one.checked))
            .map((one) => one.id || one.name || one.textContent)"""
    )
    reached, outlines = [], []
    for _ in range(80):
        tab.keyboard.press("Tab")
        name, style = tab.evaluate(
            """() => { const one = document.activeElement;
                const shown = one.type === "radio" ? one.nextElementSibling ?? one : one;
                const styles = [one, shown, one.parentElement].map((each) => getComputedStyle(each).outlineStyle);
                return [one.id || one.name || one.textContent, styles.some((style) => style !== "none")]; }"""
        )
        reached.append(name)
        outlines.append(style or name.strip().startswith("\n"))
    assert sorted(set(wanted) - set(reached)) == []
    assert len(wanted) > 25
    assert all(shown for name, shown in zip(reached, outlines, strict=True) if name in wanted)


def test_the_picture_works_with_the_keyboard_alone(tab: Any, address: str) -> None:
    opened(tab, address)
    tab.focus("#picture")
    for key in ["ArrowUp", "Shift+ArrowUp", "Shift+ArrowLeft", "Enter"]:
        tab.keyboard.press(key)
    assert "all 121 points" in settled(tab)
    assert "(-0.100, 0.110)" in tab.text_content("#probe")
    tab.keyboard.press("Delete")
    assert "all 120 points" in settled(tab)
    assert tab.is_checked("input[name=data][value=own]")


def test_choosing_with_the_arrow_keys_keeps_the_focus(tab: Any, address: str) -> None:
    opened(tab, address)
    tab.focus("input[name=data][value=moons]")
    chosen = []
    for _ in range(4):
        tab.keyboard.press("ArrowRight")
        settled(tab)
        chosen.append(tab.evaluate("document.activeElement.value"))
    assert chosen == ["circles", "spirals", "lines", "line"]
    assert "data=line" in tab.url


def test_everything_has_a_name_and_the_outcome_is_announced(tab: Any, address: str) -> None:
    opened(tab, address)
    nameless = tab.evaluate(
        """() => [...document.querySelectorAll("button, select, input, canvas, [role=radiogroup], section, form")]
            .filter((one) => !one.closest("[aria-hidden]") && one.getAttribute("aria-hidden") !== "true")
            .filter((one) => !(one.ariaLabel || one.getAttribute("aria-labelledby") || one.labels?.length))
            .filter((one) => !(one.tagName === "BUTTON" && one.textContent.trim()))
            .map((one) => one.outerHTML)"""
    )
    assert nameless == []
    assert tab.get_attribute("#outcome", "aria-live") == "polite"
    assert tab.get_attribute("#message", "role") == "alert"
    tab.fill("#seed", "2")
    settled(tab)
    tab.click("#first")
    tab.click("#next")
    assert "Hyperplane 1 of 100" in tab.get_attribute("#step", "aria-valuetext")
    tab.wait_for_timeout(100)
    assert "Hyperplane 1 of 100" in tab.get_attribute("#picture", "aria-label")


def test_the_place_under_the_cursor_tells_its_bits_counts_and_limits(tab: Any, address: str) -> None:
    opened(tab, address)
    settled(tab)
    box = tab.locator("#picture").bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tab.wait_for_timeout(200)
    assert re.search(r"\d+ of 100 bits on\. Answer: class [AB]\.", tab.text_content("#probe"))
    rows = tab.locator("#counts > div").all_text_contents()
    assert len(rows) == 5
    for row in rows:
        count, limit = map(int, re.findall(r"count (-?\d+), limit (-?\d+)", row)[0])
        assert row.endswith("fires" if count < limit else "silent")


def test_a_point_is_dragged(tab: Any, address: str) -> None:
    points = "-500,0,0_500,0,1_0,500,0"
    opened(tab, address, f"data=own&points={points}")
    settled(tab)
    box = tab.locator("#picture").bounding_box()
    side = box["width"]
    at = [box["x"] + side * (0.5 + 0.5 * 0.5 / 1.25), box["y"] + side / 2]
    tab.mouse.move(*at)
    tab.mouse.down()
    for step in range(10):
        tab.mouse.move(at[0] - step * 5, at[1] + step * 5)
    tab.mouse.up()
    settled(tab)
    moved = tab.url.split("points=")[1].split("_")
    assert [moved[0], moved[2]] == ["-500,0,0", "0,500,0"]
    x, y, label = map(int, moved[1].split(","))
    assert 0 < x < 450
    assert y < -100
    assert label == 1


@pytest.mark.parametrize("width", [375, 720, 1024, 1280, 1920])
def test_nothing_sticks_out_at_any_width(tab: Any, address: str, width: int) -> None:
    tab.set_viewport_size({"width": width, "height": 812})
    opened(tab, address, "data=spirals&classes=4&width=300")
    settled(tab)
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    cut = tab.evaluate(
        """() => [...document.querySelectorAll("button, select, input, h3, dd, legend")].filter((one) => {
            const box = one.getBoundingClientRect();
            return box.width && (box.left < -1 || box.right > innerWidth + 1); }).map((one) => one.outerHTML)"""
    )
    assert cut == []
    box = tab.locator("#picture").bounding_box()
    assert box["width"] == pytest.approx(box["height"], abs=1)
    assert box["width"] >= 300


def test_a_picture_is_redrawn_when_the_window_changes(tab: Any, address: str) -> None:
    opened(tab, address)
    settled(tab)
    before = tab.evaluate("document.querySelector('#picture').width")
    tab.set_viewport_size({"width": 375, "height": 812})
    tab.wait_for_timeout(300)
    assert tab.evaluate("document.querySelector('#picture').width") < before
    assert settled(tab) == BEGINNING


READ = (
    "h1", "h1 span", "#outcome", ".hint", "dt", "dd", "#python", "#copy", "legend", ".story p", ".slider output",
    ".segments input:checked + span",
)  # fmt: skip
CONTRAST = """(names) => {
    const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const light = (colour) => {
        const [r, g, b] = colour.match(/[\\d.]+/g).map((v) => linear(v / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const paper = (one) => {
        const colour = getComputedStyle(one).backgroundColor;
        return /, 0\\)$|transparent/.test(colour) ? paper(one.parentElement) : colour;
    };
    return names.map((name) => {
        const one = document.querySelector(name);
        const [a, b] = [light(getComputedStyle(one).color), light(paper(one))].sort((x, y) => y - x);
        return [name, (a + 0.05) / (b + 0.05)];
    });
}"""


def test_light_and_dark_can_both_be_read(tab: Any, address: str) -> None:
    papers = []
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        opened(tab, address)
        settled(tab)
        papers.append(tab.evaluate("getComputedStyle(document.querySelector('#picture')).backgroundColor"))
        assert [pair for pair in tab.evaluate(CONTRAST, READ) if pair[1] < 4.5] == []
    assert papers[0] != papers[1]


def test_it_plays_to_the_end_and_pauses(tab: Any, address: str) -> None:
    opened(tab, address, "width=20&step=0")
    settled(tab)
    tab.click("#play")
    assert tab.get_attribute("#play", "aria-label") == "Pause"
    tab.wait_for_timeout(700)
    tab.click("#play")
    stopped = int(tab.input_value("#step"))
    assert stopped > 0
    tab.wait_for_timeout(400)
    assert int(tab.input_value("#step")) == stopped
    tab.click("#play")
    tab.wait_for_selector("#play[aria-label=Play]")
    assert tab.text_content("#stage-name") == "The network"


def test_reduced_motion_is_respected(tab: Any, address: str) -> None:
    tab.emulate_media(reduced_motion="reduce")
    opened(tab, address, "width=100&step=0")
    settled(tab)
    tab.click("#play")
    seen = set()
    for _ in range(40):
        tab.wait_for_timeout(50)
        seen.add(int(tab.input_value("#step")))
    assert seen <= {0, 20, 40, 60, 80, 100}
    assert tab.evaluate("getComputedStyle(document.querySelector('#story')).scrollBehavior") == "auto"


def test_the_story_moves_the_picture(tab: Any, address: str) -> None:
    opened(tab, address)
    settled(tab)
    names = []
    for button in tab.locator("#story button").all():
        button.click()
        tab.wait_for_timeout(150)
        names.append(tab.text_content("#stage-name"))
    assert [name.split()[0] for name in names] == ["The", "Hyperplane", "Hyperplane", "Detector", "The"]
    tab.evaluate("document.querySelector('#story').scrollTo(0, 0)")
    tab.wait_for_timeout(800)
    tab.evaluate("document.querySelector('#story').scrollTo(0, 500)")
    tab.wait_for_timeout(1000)
    assert tab.text_content("#stage-name") != "The network"


def test_opened_from_a_file_it_says_how_to_serve_it(tab: Any) -> None:
    tab.goto((PAGE / "index.html").as_uri())
    tab.wait_for_timeout(2000)
    assert tab.locator("#serve").is_visible()
    assert tab.text_content("#serve") == "This page works only when it is served: run exactfit playground."


def test_the_download_is_json(tab: Any, address: str) -> None:
    opened(tab, address, "data=line&count=9")
    settled(tab)
    tab.click("#python")
    with tab.expect_download() as waiting:
        tab.click("#download")
    page = json.loads(Path(waiting.value.path()).read_text())
    assert sorted(page) == ["hyperplanes", "labels", "order", "points"]
    assert page["labels"] == [0, 1] * 4 + [0]
    tab.keyboard.press("Escape")
    assert tab.locator("#code").is_hidden()
