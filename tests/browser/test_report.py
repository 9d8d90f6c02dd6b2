"""The report in a real browser: it opens, steps, searches, jumps; no errors; readable on a phone and in the dark.

Needs Chromium and the `playwright` package; skipped without them unless WHERRY_BROWSER=required.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wherry as paddle
from wherry import nn
from wherry.inspect import Doctor, graph, record
from wherry.inspect.report import write_report

CHROMIUM = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
REQUIRED = os.environ.get("WHERRY_BROWSER") == "required"
SCREENSHOTS = os.environ.get("WHERRY_SCREENSHOTS")

if not REQUIRED:
    pytest.importorskip("playwright")
    if CHROMIUM is None:
        pytest.skip("no Chromium on the path", allow_module_level=True)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    assert CHROMIUM is not None, "WHERRY_BROWSER=required, but no Chromium is on the path"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three steps of a small network with one fault: (N, 1) minus (N,)."""
    paddle.seed(0)
    path = tmp_path_factory.mktemp("report") / "report.html"
    net = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 1))
    optimizer = paddle.optimizer.Adam(parameters=net.parameters())
    x, y = paddle.randn([6, 4]), paddle.randn([6])
    examination = Doctor()
    with examination, record() as tape:
        for _ in range(3):
            loss = (net(x) - y).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
    write_report(tape, examination.findings, path)
    return path


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five thousand nodes in a loop."""
    path = tmp_path_factory.mktemp("large") / "large.html"
    x = paddle.ones([2, 2])
    x.stop_gradient = False
    with record() as tape:
        y = x
        for _ in range(2500):
            y = y * 0.999
            y = y + 0.001
        y.sum().backward()
    write_report(tape, [], path)
    return path


class Opened:
    """A page and what its console said."""

    def __init__(self, browser: Any, path: Path, **options: Any) -> None:
        self.page = browser.new_page(**options)
        self.complaints: list[str] = []
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda e: self.complaints.append(str(e)))
        self.page.on(
            "request", lambda r: self.complaints.append(r.url) if not r.url.startswith(("file:", "data:")) else None
        )
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("body[data-ready=yes]")

    def text(self, selector: str) -> str:
        # SVG elements have no inner text.
        return str(self.page.text_content(selector) if selector == "#graph" else self.page.inner_text(selector))

    def close(self, name: str = "") -> None:
        if SCREENSHOTS and name:
            self.page.wait_for_timeout(150)
            self.page.screenshot(path=f"{SCREENSHOTS}/{name}.png")
        self.page.close()
        assert self.complaints == []


def test_findings_graph_and_card_belong_together(browser: Any, report: Path) -> None:
    opened = Opened(browser, report, viewport={"width": 1400, "height": 900})
    page = opened.page
    assert "3 backward passes" in opened.text("#summary")
    assert "broadcasts to [6, 6]" in opened.text("#findings")
    page.click("#findings li")
    assert opened.text("#card h3").endswith("(backward)")
    assert page.locator("#graph g.faulty").count() == 1
    page.click("#card button:has-text('its forward call')")
    for part in ("1 API", "2 arguments", "3 autograd", "4 library", "5 kernel", "KernelKey (CPU, ANY, float32)"):
        assert part in opened.text("#card")
    page.click("#card button:has-text('its backward')")
    assert opened.text("#card h3").endswith("(backward)")
    opened.close("report")


def test_stepping_counts_down_and_fills_holders(browser: Any, report: Path) -> None:
    opened = Opened(browser, report, viewport={"width": 1400, "height": 900})
    page = opened.page
    assert "#0 of " in opened.text("#step-text") and "seeds" in opened.text("#holders")
    total = int(page.get_attribute("#step", "max"))
    page.click("#next")
    page.keyboard.press("ArrowRight")
    assert opened.text("#step-text").startswith("#2 of ")
    assert "1 of 1" in opened.text("#holders") and "norm" in opened.text("#holders")
    page.keyboard.press("ArrowLeft")
    assert opened.text("#step-text").startswith("#1 of ")
    page.evaluate("stepping.go(1e9)")
    assert opened.text("#step-text") == f"done: {total} nodes" and "nothing waits" in opened.text("#holders")
    opened.close()


def test_fold_unfold_and_search(browser: Any, report: Path) -> None:
    opened = Opened(browser, report, viewport={"width": 1400, "height": 900})
    page = opened.page
    folded = page.locator("#graph g.box").count()
    page.select_option("#fold", "none")
    assert page.locator("#graph g.box").count() > folded
    page.select_option("#fold", "module")
    assert "layer_norm_0" in opened.text("#graph")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("gelu")
    page.wait_for_selector("#results li")
    # Three calls forward, three nodes backward.
    assert opened.text("#results-title") == "Found 6"
    page.click("#results li >> nth=0")
    assert opened.text("#card h3") == "gelu"
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    assert page.locator("#results li").count() == 0
    page.fill("#search", "linear_0.w_0")
    page.wait_for_selector("#results li")
    page.click("#results li >> nth=0")
    assert opened.text("#card h3") == "leaf " + opened.text("#card td >> nth=0")
    opened.close()


def test_timeline_and_memory_answer_to_the_mouse(browser: Any, report: Path) -> None:
    opened = Opened(browser, report, viewport={"width": 1400, "height": 900})
    page = opened.page
    box = page.locator("#timeline").bounding_box()
    found = False
    for part in range(1, 100):
        page.mouse.move(box["x"] + box["width"] * part / 100, box["y"] + 85)
        found = found or "us" in opened.text("#hover") or "ms" in opened.text("#hover")
    assert found
    before = page.evaluate("timeline.view.to - timeline.view.from")
    page.mouse.wheel(0, -300)
    assert page.evaluate("timeline.view.to - timeline.view.from") < before
    chart = page.locator("#memory").bounding_box()
    page.mouse.move(chart["x"] + chart["width"] / 2, chart["y"] + 20)
    assert "after" in opened.text("#memory-text")
    opened.close()


def test_five_thousand_nodes_stay_usable(browser: Any, large: Path) -> None:
    opened = Opened(browser, large, viewport={"width": 1400, "height": 900})
    page = opened.page
    assert "5001 nodes in 4 boxes" in opened.text("#graph-note") or "5002 nodes in 4 boxes" in opened.text(
        "#graph-note"
    )
    page.evaluate("stepping.go(2500)")
    page.keyboard.press("u")
    assert "around #" in opened.text("#graph-note")
    assert page.locator("#graph g.now").count() == 1
    page.keyboard.press("ArrowRight")
    assert page.locator("#graph g.now").count() == 1
    opened.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_in_light_and_dark(browser: Any, report: Path, scheme: str) -> None:
    opened = Opened(browser, report, viewport={"width": 390, "height": 800}, color_scheme=scheme)
    page = opened.page
    assert page.evaluate("document.documentElement.scrollWidth") <= 390, "nothing is wider than the screen"
    for tab, panel in (
        ("Findings", "#findings-panel"),
        ("Backward", "#graph-panel"),
        ("Time", "#time-panel"),
        ("Card", "#card-panel"),
    ):
        page.click(f"nav button:has-text('{tab}')")
        assert page.is_visible(panel)
    page.click("nav button:has-text('Findings')")
    page.click("#findings li")
    assert page.is_visible("#card table"), "a finding leads to its card"
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    opened.close(f"phone-{scheme}")


def test_the_page_of_a_graph(browser: Any, tmp_path: Path) -> None:
    x = paddle.ones([3])
    x.stop_gradient = False
    path = tmp_path / "graph.html"
    graph((paddle.tanh(x) * x).sum()).to_html(path)
    opened = Opened(browser, path, viewport={"width": 1400, "height": 900})
    opened.page.select_option("#fold", "none")
    assert opened.page.locator("#graph g.box").count() == 4
    opened.page.keyboard.press("ArrowRight")
    assert "multiply" in opened.text("#card h3")
    assert "saved" in opened.text("#card") and "x: float32[3], 12 B" in opened.text("#card")
    opened.close("graph")


def test_text_of_the_program_cannot_become_markup(browser: Any, tmp_path: Path) -> None:
    x = paddle.ones([3])
    x.stop_gradient = False
    x.name = "</script><img src=x onerror=document.title='broken'>"
    path = tmp_path / "markup.html"
    with record() as tape:
        (x * 2.0).sum().backward()
    write_report(tape, [], path, title="<b>&")
    opened = Opened(browser, path)
    assert opened.page.title() == "<b>&" and opened.page.locator("img").count() == 0
    opened.close()
