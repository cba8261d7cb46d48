"""The report in a browser: no error, links that lead somewhere, sorting, heights, narrow screens, sizes of texts, print
and contrast.

It needs Debian's chromium and chromium-driver; without them it is skipped, unless PPPCA_REQUIRE_BROWSER=1.
"""

import base64
import re
from pathlib import Path

import pytest
from command_line import printed
from conftest import required_program
from published_page import write_store
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

pytestmark = pytest.mark.slow

WIDE, NARROW = (1280, 800), (390, 844)
"""Width and height of a laptop's screen, and of a phone's, in pixels."""

MOST_SCREENS = {WIDE: 11, NARROW: 18}
"""Of the shipped page, before anything is opened."""

LEAST_TEXT = 9
"""Height of texts in pixels."""

MOST_PAGES = 12
SHIPPED = Path(__file__).parents[2] / "results" / "report.html"
LEAST_CONTRAST = 4.5
"""Of text and what is behind it (WCAG 2.2, level AA)."""

WITHOUT_HINT = """
const wider = [...document.querySelectorAll(".scroll")].filter(
  box => box.checkVisibility() && box.scrollWidth > box.clientWidth + 1);
const shadow = box => parseFloat(getComputedStyle(box, "::after").width) > 0;
return [wider.length, wider.filter(box => !shadow(box)).map(box => box.getAttribute("aria-label"))];
"""
"""Number of the boxes that scroll, and the names of those without a shadow."""

TEXTS = """
const sizes = {};
for (const element of document.querySelectorAll("body *:not(script)")) {
  if (!element.checkVisibility()) continue;
  if (![...element.childNodes].some(node => node.nodeType === 3 && node.data.trim())) continue;
  const matrix = element.getScreenCTM?.();
  const scale = matrix ? Math.hypot(matrix.a, matrix.b) : 1;
  const size = scale * parseFloat(getComputedStyle(element).fontSize);
  const name = (element.closest("figure")?.id ?? "") + " " + element.tagName + "." + element.getAttribute("class");
  sizes[name] = Math.min(sizes[name] ?? 99, size);
}
return sizes;
"""
"""Least height of the shown texts in pixels, by figure and element."""

CONTRASTS = """
const linear = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
const parts = text => text.match(/[\\d.]+/g).map(Number);
const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
const behind = element => {
  for (; element; element = element.parentElement) {
    const colour = parts(getComputedStyle(element).backgroundColor);
    if (colour.length === 3 || colour[3] > 0) return colour;
  }
  throw new Error("the page has no background");
};
const found = {};
for (const element of document.querySelectorAll("body, body *:not(script):not(svg):not(svg *)")) {
  if (![...element.childNodes].some(node => node.nodeType === 3 && node.data.trim())) continue;
  const [one, other] = [luminance(parts(getComputedStyle(element).color)), luminance(behind(element))];
  const name = element.tagName + "." + element.className;
  const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  found[name] = Math.min(found[name] ?? 99, ratio);
}
return found;
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = write_store(tmp_path_factory.mktemp("results"))
    printed("report", "--results", folder)
    return (folder / "report.html").as_uri()


@pytest.fixture(scope="module")
def chromium():
    programs = [
        required_program(name, "PPPCA_REQUIRE_BROWSER") for name in ("chromium", "chromedriver")
    ]
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(programs[1]))
    yield browser
    browser.quit()


@pytest.fixture
def browser(chromium, page):
    """Return a browser that has just loaded the page, on a wide light screen."""
    show(chromium, WIDE, "light")
    chromium.get(page)
    return chromium


def show(browser, screen: tuple[int, int], scheme: str) -> None:
    size = {"width": screen[0], "height": screen[1], "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def column(table, place: int) -> list[str]:
    return [row.find_elements(By.CSS_SELECTOR, "th, td")[place].text for row in shown_rows(table)]


def shown_rows(table) -> list:
    return [row for row in table.find_elements(By.CSS_SELECTOR, "tbody tr") if row.is_displayed()]


def test_the_console_is_silent(browser):
    assert browser.get_log("browser") == []


def open_all(browser) -> None:
    browser.execute_script(
        "for (const one of document.querySelectorAll('details')) one.open = true"
    )


def test_every_link_leads_to_something_that_is_shown_once_all_is_open(browser):
    open_all(browser)
    lost = browser.execute_script(
        "return [...document.links].filter(one => one.hash && !document.getElementById("
        "decodeURIComponent(one.hash.slice(1)))?.getClientRects().length).map(one => one.outerHTML)"
    )
    assert lost == []
    assert browser.execute_script("return document.links.length") > 50


@pytest.mark.parametrize("screen", [WIDE, NARROW], ids=["wide", "narrow"])
def test_a_box_that_scrolls_has_a_shadow_and_no_text_is_too_small(browser, screen):
    browser.get(SHIPPED.as_uri())
    show(browser, screen, "light")
    for opened in (False, True):
        if opened:
            open_all(browser)
        browser.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0], 200))")
        n_wider, without_hint = browser.execute_script(WITHOUT_HINT)
        assert (n_wider > 0 or not opened, without_hint) == (True, [])
        sizes = browser.execute_script(TEXTS)
        assert len(sizes) > 20
        assert {name: size for name, size in sizes.items() if size < LEAST_TEXT} == {}


def test_no_link_of_the_page_leaves_it(browser, tmp_path):
    copied = tmp_path / "elsewhere" / "page.html"
    copied.parent.mkdir()
    copied.write_bytes(SHIPPED.read_bytes())
    browser.get(copied.as_uri())
    leaving = browser.execute_script(
        "return [...document.links].filter(one => one.href.split('#')[0] !== location.href)"
        ".map(one => one.outerHTML)"
    )
    assert leaving == []


def test_a_link_from_a_cell_opens_how_its_config_was_run(browser):
    browser.find_element(By.CSS_SELECTOR, "#T5 td summary").click()
    browser.find_element(By.CSS_SELECTOR, "#T5 td .spread a").click()
    assert browser.find_element(By.ID, "rules-cancer1").is_displayed()


def test_the_menu_has_at_most_ten_names_and_is_closed_on_a_phone(browser):
    names = browser.find_elements(By.CSS_SELECTOR, "nav.wide a")
    assert 5 < len(names) <= 10
    assert all(name.is_displayed() for name in names)
    show(browser, NARROW, "light")
    links = browser.find_elements(By.CSS_SELECTOR, "nav a")
    assert not any(link.is_displayed() for link in links)
    browser.find_element(By.CSS_SELECTOR, "nav.narrow summary").click()
    assert sum(link.is_displayed() for link in links) == len(names)


def test_a_table_sorts_by_click_and_by_keyboard(browser):
    open_all(browser)
    table = browser.find_element(By.CSS_SELECTOR, "#P3 table")
    heads = table.find_elements(By.CSS_SELECTOR, "thead th")
    numbers = [float(text.split()[0]) for text in column(table, 1) if text[0] != "–"]
    assert numbers != sorted(numbers)
    heads[1].find_element(By.TAG_NAME, "button").click()
    assert heads[1].get_attribute("aria-sort") == "ascending"
    found = column(table, 1)
    assert [float(text.split()[0]) for text in found if text[0] != "–"] == sorted(numbers)
    assert found[-1].startswith("–")
    heads[1].find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
    assert heads[1].get_attribute("aria-sort") == "descending"
    got = [float(text.split()[0]) for text in column(table, 1) if text[0] != "–"]
    assert got == sorted(numbers, reverse=True)
    heads[0].find_element(By.TAG_NAME, "button").send_keys(Keys.SPACE)
    assert [head.get_attribute("aria-sort") for head in heads[:2]] == ["ascending", None]
    assert column(table, 0) == sorted(column(table, 0))


def test_a_cell_opens_by_keyboard_and_shows_its_repeats_and_its_command_to_copy(browser):
    summary = browser.find_element(By.CSS_SELECTOR, "#T5 td summary")
    spread = browser.find_element(By.CSS_SELECTOR, "#T5 td .spread")
    assert not spread.is_displayed()
    summary.send_keys(Keys.ENTER)
    assert spread.is_displayed()
    assert "3 repeats" in spread.text
    assert "upper quartile" in spread.text
    command = browser.find_element(By.CSS_SELECTOR, "#T5 td code.command").text
    assert command.startswith("pppca run cancer1 --only problem=cancer1,method=dgha")
    button = browser.find_element(By.CSS_SELECTOR, "#T5 td button.copy")
    button.click()
    assert button.text == "Copied"
    assert browser.execute_script("return getSelection().toString()") == command


def test_the_first_key_reaches_the_skip_link(browser):
    browser.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    link = browser.switch_to.active_element
    assert link.text == "Skip to the content"
    link.send_keys(Keys.ENTER)
    assert browser.switch_to.active_element.tag_name == "main"


@pytest.mark.parametrize("opened", [False, True], ids=["closed", "opened"])
def test_nothing_is_wider_than_a_narrow_screen(browser, opened):
    show(browser, NARROW, "light")
    if opened:
        open_all(browser)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= NARROW[0]
    outside = browser.execute_script(
        "return [...document.querySelectorAll('body *')].filter(one => !one.closest('.scroll, .skip') &&"
        " one.getBoundingClientRect().right > arguments[0] + 1).map(one => one.outerHTML.slice(0, 99))",
        NARROW[0],
    )
    assert outside == []


def test_on_a_phone_published_numbers_stand_below_ours_beside_the_header_of_their_column(browser):
    show(browser, NARROW, "light")
    row = browser.find_element(By.CSS_SELECTOR, "#T5 tbody tr")
    ours, published = (row.find_element(By.CSS_SELECTOR, one) for one in ("td u", "td .p"))
    assert ours.rect["y"] + ours.rect["height"] <= published.rect["y"] + 1
    header = browser.execute_script(
        "return getComputedStyle(arguments[0].querySelector('td'), '::before').content", row
    )
    assert header == '"τ = 5"'
    assert not browser.find_element(By.CSS_SELECTOR, "#T5 thead").is_displayed()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_have_enough_contrast(browser, scheme):
    show(browser, WIDE, scheme)
    open_all(browser)
    found = browser.execute_script(CONTRASTS)
    assert len(found) > 20
    assert {name: ratio for name, ratio in found.items() if ratio < LEAST_CONTRAST} == {}
    dark = (
        browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        == "rgb(20, 23, 28)"
    )
    assert dark == (scheme == "dark")


@pytest.mark.parametrize("screen", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_shipped_page_has_few_screens(browser, screen):
    browser.get(SHIPPED.as_uri())
    show(browser, screen, "light")
    height = browser.execute_script("return document.documentElement.scrollHeight")
    assert height <= MOST_SCREENS[screen] * screen[1]


def test_the_first_screen_of_the_shipped_page_has_five_lines_and_published_against_our_numbers(
    browser,
):
    browser.get(SHIPPED.as_uri())
    ends = browser.execute_script(
        "return ['#answer .headline', '#answer #F5 svg']"
        ".map(one => document.querySelector(one).getBoundingClientRect().bottom)"
    )
    assert max(ends) <= WIDE[1]
    assert len(browser.find_elements(By.CSS_SELECTOR, "#answer .headline li")) == 5
    assert len(browser.find_elements(By.CSS_SELECTOR, "nav.wide a")) <= 10


def test_the_shipped_page_is_printed_on_few_pages_that_do_not_ask_to_scroll(browser):
    browser.get(SHIPPED.as_uri())
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    text = browser.find_element(By.TAG_NAME, "body").text
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert "scroll" not in text.lower()
    a4 = {"paperWidth": 8.27, "paperHeight": 11.69, "printBackground": True}
    printed_page = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", a4)["data"])
    assert 1 < len(re.findall(rb"/Type\s*/Page\b", printed_page)) <= MOST_PAGES
