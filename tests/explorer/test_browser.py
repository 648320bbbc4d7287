"""Pages in a browser: what is clicked lights up what was made from it.

They are skipped where there is no Chromium (Debian: chromium and chromium-driver).
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.explorer.test_page import NASTY, X, function_of_six
from tests.test_examples import example
from tracejit import demo

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

# selenium closes its sockets when it is collected
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("no browser: apt-get install chromium chromium-driver")
    if importlib.util.find_spec("selenium") is None:
        pytest.skip("selenium is not installed: pip install 'tracejit[night]'")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    made = webdriver.Chrome(options, Service(driver))
    made.set_window_size(1400, 1000)
    yield made
    made.quit()


class Opened:
    """A page that is open."""

    def __init__(self, browser: Any, path: Path, html: str) -> None:
        """Open `html` as a file."""
        path.write_text(html, encoding="utf-8")
        self.browser = browser
        browser.get(path.as_uri())

    def run(self, script: str, *args: Any) -> Any:
        """What a script returns."""
        return self.browser.execute_script(script, *args)

    def texts(self, selector: str) -> list[str]:
        """The texts of all elements."""
        script = "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)"
        return self.run(script, selector)

    def click(self, selector: str, text: str = "") -> None:
        """Click the first element that holds this text."""
        found = self.browser.find_elements("css selector", selector)
        next(one for one in found if text in one.get_attribute("textContent")).click()

    def press(self, keys: str) -> None:
        """Press keys where the focus is."""
        self.browser.switch_to.active_element.send_keys(keys)

    def problems(self) -> list[str]:
        """What the browser has complained of."""
        return [one["message"] for one in self.browser.get_log("browser")]


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Any:
    """A function that opens a page."""
    number = iter(range(9))
    return lambda html: Opened(browser, tmp_path / f"{next(number)}.html", html)


def loss(x: Any, w: Any) -> Any:
    h = np.tanh(x @ w)
    q = np.exp(-h)
    return np.sum(q * h)


def made(cache: bool = False) -> Any:
    return tj.value_and_grad(tj.function(loss, cache=cache), 1).kernel(X, X.T)


LIT = ".made .rows[data-name={}] .l.on code"


def backward_lines(page: Opened) -> list[str]:
    return [one.strip() for one in page.texts(LIT.format("backward"))]


def test_a_click_on_a_line_lights_up_what_was_made_from_it(opened: Any) -> None:
    page = opened(made().to_html())
    page.click(".user .l", "np.tanh")
    forward = page.texts(LIT.format("forward"))
    assert [one.strip() for one in forward] == ["h = tanh(x.dot(w))"]
    tanh = backward_lines(page)
    assert tanh and any("x.T.dot(" in one for one in tanh)
    assert "1 in forward" in page.texts(".status")[0]
    page.click(".user .l", "np.exp")
    exp = backward_lines(page)
    assert exp and set(exp).isdisjoint(tanh)
    page.click(".user .l", "np.exp")  # let it go
    page.press("\N{ESCAPE}")
    assert not page.texts(".on")
    assert page.problems() == []


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python knows columns from 3.11 on")
def test_expressions_light_up_in_every_direction(opened: Any) -> None:
    page = opened(made().to_html())
    page.click(".user [data-e]", "x @ w")
    inner = page.run(
        "return [...document.querySelectorAll('.user [data-e]')]"
        ".find((one) => one.textContent === 'x @ w')"
    )
    inner.click()
    assert set(page.texts(".user [data-e].on")) == {"x @ w"}
    assert page.texts(".made .rows[data-name=forward] [data-e].on") == ["x.dot(w)"]
    assert len(page.texts("svg .box.on")) >= 1
    generated = page.run(
        "return [...document.querySelectorAll('.made [data-e]')]"
        ".find((one) => one.textContent.includes('q = exp(-h)'))"
    )
    generated.click()
    assert page.texts(".user [data-e].on") == ["np.exp(-h)"]


def test_keys_alone_suffice(opened: Any) -> None:
    page = opened(made().to_html())
    page.run("document.querySelector('.user').focus()")
    down, right, enter = "\ue015", "\ue014", "\ue007"
    page.press(down)
    page.press(down)
    focused = page.run("return document.activeElement.textContent")
    assert "q = np.exp(-h)" in focused
    page.press(enter)
    page.press(right)
    assert "exp" in page.run("return document.activeElement.textContent")
    assert page.run("return document.activeElement.closest('.made') !== null")
    page.press("?")
    assert page.run("return document.querySelector('dialog').open")
    page.press("\N{ESCAPE}")
    before = page.run("return getComputedStyle(document.querySelector('.tj')).backgroundColor")
    page.run("document.activeElement.blur()")
    page.press("t")
    page.press("t")
    after = page.run("return getComputedStyle(document.querySelector('.tj')).backgroundColor")
    assert page.texts("[data-theme]") == ["Dark"] and before != after


def test_tabs_and_the_comparison(opened: Any) -> None:
    page = opened(function_of_six().to_html())
    panels = "[...document.querySelectorAll('[role=tabpanel]')]"
    shown = f"return {panels}.filter((one) => !one.hidden).map((one) => one.id)"
    assert page.run(shown) == ["kernel-1"]
    page.press("3")
    assert page.run(shown) == ["kernel-3"]
    page.press("c")
    assert page.run(shown) == ["compare"]
    texts = page.texts(".diff td.new")
    assert any("f8[n,4]" in one for one in texts)
    left = [one for one in page.texts(".diff tr:not(.gap) td:nth-child(2)") if one]
    lines = set(function_of_six().kernels[0].source.split("\n"))
    assert set(left) - {one for one in left if "key" in one} <= lines
    assert any("lines alike" in one for one in page.texts(".diff .gap")) or len(left) < 80
    page.run(
        "const one = document.querySelectorAll('.compare select'); one[1].value = one[0].value;"
        "one[1].dispatchEvent(new Event('change'))"
    )
    assert page.texts(".diff") == ["These two have the same text."]
    assert page.problems() == []


@pytest.mark.parametrize("text", NASTY)
def test_nothing_of_the_users_runs(opened: Any, text: str) -> None:
    space: dict[str, Any] = {"np": np}
    exec("def f(p, q): return np.sum(p[q] * 2.0)", space)
    f: Any = tj.function(space["f"], cache=False)
    f({text: X}, text), f({text: X[:2]}, text)
    page = opened(f.to_html())
    page.press("c")
    page.click("[role=tab]", "1")
    page.click(".user .l", "# the text of this line is not known")
    assert page.texts(".made .l.on")
    assert page.run("return typeof window.alerted") == "undefined"
    assert page.run("return document.images.length + document.scripts.length") == 1
    assert page.problems() == []


def test_nothing_injected_would_run(opened: Any) -> None:
    """The policy is a second fence: a script that got in would not run."""
    html = made().to_html().replace("</main>", "<script>window.broken = 1</script></main>", 1)
    page = opened(html)
    assert page.run("return window.broken") is None
    assert any("Content Security Policy" in one for one in page.problems())


def test_two_explorers_in_one_document_keep_apart(opened: Any) -> None:
    cell = made()._repr_html_()
    page = opened(f"<body><p id=prose>before</p>{cell}<hr>{cell}</body>")
    page.click(".kernel:last-of-type .user .l", "np.tanh")
    assert len(page.texts(".kernel:last-of-type .user .l.on")) == 1
    assert not page.texts(".kernel:first-of-type .user .l.on")
    style = (
        "const s = getComputedStyle(document.querySelector('#prose')); return [s.color, s.fontSize]"
    )
    assert page.run(style) == ["rgb(0, 0, 0)", "16px"]


@pytest.mark.parametrize("width", [480, 1400])
def test_nothing_sticks_out_at_the_side(opened: Any, browser: Any, width: int) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        page = opened(function_of_six().to_html())
        assert page.run("return document.documentElement.scrollWidth") <= width
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def kalman_page() -> str:
    likelihood = tj.value_and_grad(example("nile_flow").negative_log_likelihood)
    likelihood(np.log([1e4, 1e3]), np.linspace(900.0, 1100.0, 200))
    return likelihood.to_html()


def six_page() -> str:
    return function_of_six().to_html()


def digits_page() -> str:
    data, start = demo.digits(), demo.start(np.random.default_rng(0))
    one_hot = np.eye(10, dtype=np.float32)[data.digit]
    for rate in (0.5, 0.4):
        demo.step(start, data.x[:32], one_hot[:32], rate)
    return demo.step.to_html()


@pytest.mark.parametrize("page", [kalman_page, digits_page, six_page])
def test_pages_are_small_and_open_at_once(opened: Any, page: Any) -> None:
    html = page()
    assert len(html.encode()) < 1_000_000
    shown = opened(html)
    timing = "return performance.getEntriesByType('navigation')[0].loadEventEnd"
    assert 0 < shown.run(timing) < 1000


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python knows columns from 3.11 on")
def test_pointing_at_an_expression_is_enough(opened: Any, browser: Any) -> None:
    from selenium.webdriver import ActionChains

    page = opened(made().to_html())
    parts = browser.find_elements("css selector", ".user [data-e]")
    ActionChains(browser).move_to_element(
        next(one for one in parts if one.text == "np.exp(-h)")
    ).perform()
    assert page.texts(".made .rows[data-name=forward] [data-e].on") == ["q = exp(-h)"]
    ActionChains(browser).move_to_element(browser.find_element("css selector", "h1")).perform()
    assert not page.texts(".on")


def test_the_graph_can_be_moved_and_enlarged(opened: Any, browser: Any) -> None:
    from selenium.webdriver import ActionChains

    page = opened(made().to_html())
    view = "const v = document.querySelector('svg.net').viewBox.baseVal; return [v.x, v.y, v.width]"
    before = page.run(view)
    page.click("[data-zoom=in]")
    larger = page.run(view)
    assert larger[2] < before[2]
    svg = browser.find_element("css selector", "svg.net")
    ActionChains(browser).drag_and_drop_by_offset(svg, 60, 40).perform()
    moved = page.run(view)
    assert moved[0] < larger[0] and moved[1] < larger[1]
    ActionChains(browser).move_to_element(browser.find_element("css selector", "h1")).perform()
    assert not page.texts(".l.on")  # a drag that ends on a box is no click
    page.run("document.querySelector('svg.net').focus()")
    page.press("\ue012")
    assert page.run(view)[0] != moved[0]
    page.click("[data-zoom=fit]")
    net = "document.querySelector('svg.net')"
    height = page.run(f"return Number({net}.dataset.size.split(' ')[1])")
    assert page.run(f"return {net}.viewBox.baseVal.height") > height


def test_the_theme_is_the_systems_unless_chosen(opened: Any, browser: Any) -> None:
    html = made().to_html()
    color = "return getComputedStyle(document.querySelector('.tj')).backgroundColor"
    found = {}
    for theme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": theme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        page = opened(html)
        page.run("localStorage.clear()")
        page = opened(html)
        found[theme] = page.run(color)
        page.click("[data-theme]"), page.click("[data-theme]")  # light, then dark
        assert page.run(color) == "rgb(20, 22, 26)"
        page.run("localStorage.clear()")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert found == {"light": "rgb(253, 253, 252)", "dark": "rgb(20, 22, 26)"}


def test_all_functions_are_printed(opened: Any, browser: Any) -> None:
    page = opened(made().to_html())
    shown = (
        "return [...document.querySelectorAll('.made .rows')].filter((one) => one.offsetParent)"
        ".map((one) => one.dataset.name)"
    )
    assert page.run(shown) == ["forward", "backward"]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert page.run(shown) == ["forward", "backward", "value_and_grad", "head"]
        assert page.run("return document.querySelector('.status').offsetParent") is None
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
