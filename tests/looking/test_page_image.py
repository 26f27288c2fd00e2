"""The image view in a real browser: patches that are asked, heads, files to keep, and images dropped and drawn."""

import base64
import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from seen_browser import Tab, at_home
from seen_models import classified, picture

from regard.looking.page.document import static_document
from regard.looking.page.server import PageServer

DROP = """([letters, name, size]) => {
  const sent = Uint8Array.from(atob(letters), (one) => one.charCodeAt(0)), given = new DataTransfer();
  const bytes = size ? new Uint8Array(size) : sent;
  given.items.add(new File([bytes], name));
  document.body.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: given }));
}"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("images") / "vit.html"
    path.write_text(static_document([classified(), classified(pooling="mean")]), "utf-8")
    return path.as_uri()


def png(pixels: Any) -> bytes:
    Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels).save(out := io.BytesIO(), "PNG")
    return out.getvalue()


def saved(page: Any, kind: str) -> bytes:
    with page.expect_download() as found:
        page.locator(f'[data-save="{kind}"]').click()
    return Path(found.value.path()).read_bytes()


def weights(page: Any) -> list[float]:
    rows = list(csv.reader(io.StringIO(saved(page, "csv").decode())))[1:]
    return [float(row[1]) for row in rows]


def test_patches_are_asked_and_show_who_looks_at_them(browser: Any, file: str) -> None:
    tab, look = Tab(browser), classified()
    page = tab.open(file, "view=image&panel=encoder.0.1")
    first = look.weights("encoder", 0, 1)
    assert weights(page) == pytest.approx(first[0].tolist(), abs=2e-5)  # of [CLS]
    box = page.locator("canvas.picture").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + box["height"] * 0.2)
    assert "[CLS] → row 0, column 2" in tab.text("#tip")
    page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.9)
    page.wait_for_url("**from=5**")  # row 1, column 1, behind [CLS]
    assert weights(page) == pytest.approx(first[5].tolist(), abs=2e-5)
    tab.does('[data-do="back"]')
    assert weights(page) == pytest.approx(first[:, 5].tolist(), abs=2e-5)
    tab.does('[data-head="encoder.1.0"]')
    assert weights(page) == pytest.approx(look.weights("encoder", 1, 0)[:, 5].tolist(), abs=2e-5)
    tab.does('[data-from="0"]')
    assert weights(page) == pytest.approx(look.weights("encoder", 1, 0)[:, 0].tolist(), abs=2e-5)
    assert saved(page, "png").startswith(b"\x89PNG")
    assert saved(page, "svg").count(b"<rect") == 7
    assert tab.said == []
    assert at_home(tab, "file:")
    tab.context.close()


def test_keys_choose_patches_and_heads(browser: Any, file: str) -> None:
    tab = Tab(browser)
    page = tab.open(file, "view=image")
    page.locator("canvas.picture").focus()
    for key in ("ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    assert "row 1, column 1" in tab.text("#tip")
    page.keyboard.press("Enter")
    page.wait_for_url("**from=5**")
    page.keyboard.press(".")
    page.wait_for_url("**panel=encoder.0.1**")
    page.keyboard.press("2")
    tab.drawn("heads")
    assert "encoder self-attention, layer 0, head 1" in tab.text("#view")
    assert tab.said == []
    tab.context.close()


def test_it_fits_a_telephone_and_runs_stand_side_by_side(browser: Any, file: str) -> None:
    tab = Tab(browser, viewport={"width": 390, "height": 800}, color_scheme="dark")
    for view in ("compare", "image", "image&panel=encoder.0.1", "image&look=1&panel=influence.source"):
        page = tab.open(file, f"view={view}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.locator("canvas.picture").count() == (2 if view == "compare" else 1)
    assert "by gradients" in tab.text("#brightest")
    assert tab.said == []
    tab.context.close()


def shown(server: PageServer) -> tuple[str, Any]:
    scene = server.live.looks[0].scene
    assert scene.image is not None
    return scene.read, scene.image.pixels


def dropped(page: Any, content: bytes, name: str) -> None:
    page.evaluate(DROP, [base64.b64encode(content).decode(), name, 0])


def test_an_image_is_dropped_chosen_and_taken_back(browser: Any, live: Any, tmp_path: Path) -> None:
    server = live(classified())
    tab = Tab(browser)
    page = tab.open(server.address, "view=image&panel=encoder.0.0&from=3")
    dropped(page, png(picture(7)), "<b>new</b>.png")
    page.wait_for_selector('[data-do="undo"]')
    name, pixels = shown(server)
    assert name == tab.text("header .said b") == "<b>new</b>.png"
    assert np.array_equal(pixels, classified_pixels(7))
    assert weights(page) == pytest.approx(server.live.looks[0].weights("encoder", 0, 0)[3].tolist(), abs=2e-5)
    (tmp_path / "other.png").write_bytes(png(picture(8)))
    page.set_input_files("#file", tmp_path / "other.png")
    page.wait_for_selector('header .said b:text-is("other.png")')
    tab.does("#classes .bars button.token >> nth=2")  # what spoke for another class
    said = page.locator("#classes .bars .said-one").inner_text()
    assert server.live.looks[0].scene.written == said
    for left in ("other.png", "<b>new</b>.png", "the image"):
        tab.does('[data-do="undo"]')
        assert tab.text("header .said b") == left
    assert tab.said == []
    assert at_home(tab, server.address)
    tab.context.close()


def classified_pixels(seed: int) -> Any:
    """As the model sees it."""
    from seen_models import classifier

    return classifier().fitted(picture(seed)).transpose(1, 2, 0)


def test_an_image_is_drawn_with_the_pointer(browser: Any, live: Any) -> None:
    server = live(classified())
    tab = Tab(browser)
    page = tab.open(server.address)
    page.locator('[data-do="empty"]').click()
    box = page.locator("canvas.pad").bounding_box()
    page.mouse.move(box["x"] + 0.1 * box["width"], box["y"] + 0.5 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 0.5 * box["height"], steps=4)
    page.mouse.up()
    page.wait_for_selector('[data-do="undo"]')
    name, pixels = shown(server)
    assert name == "drawn by hand"
    assert pixels[3:5, 3:9].min() > 100  # light on dark, as its images are
    assert pixels[[0, -1]].max() == 0
    assert tab.said == []
    tab.context.close()


def test_what_is_no_image_is_said_and_the_page_stays(browser: Any, live: Any) -> None:
    server = live(classified(channels=3))
    tab = Tab(browser)
    page = tab.open(server.address)
    assert page.locator("canvas.pad").count() == 0  # nobody draws photographs
    dropped(page, b"<svg onload=alert(1)>", "x.svg")
    page.wait_for_selector("text=x.svg: no image")
    page.evaluate(DROP, ["", "large.png", 2**24 + 1])
    page.wait_for_selector("text=large.png: over 16 MiB")
    dropped(page, png(picture(3, 3)), "fine.png")
    page.wait_for_selector('[data-do="undo"]')
    assert [one for one in tab.said if "400" not in one] == []  # Chromium tells of what was refused
    tab.context.close()
