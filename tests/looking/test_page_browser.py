"""The page in a real browser: every view of every family, and nothing that a token could do in it."""

import csv
import io
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from seen_browser import Tab, at_home
from seen_models import classified, read, translated

from regard.looking.look import Look
from regard.looking.page.document import static_document

HOSTILE = [
    "<script>document.title='owned'</script>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!--<script>",
    "]]>",
    "{{script}}",
    "javascript:alert(1)",
    "\u202egnorw",
    "\u2066\u2069",
    "\u200b",
    "\ufeff",
    "\u2028",
    "\u2029",
    "\x00",
    "\x1b[31m",
    "'\"`",
    "&lt;b&gt;",
    "=1+1",
    "👩‍👩‍👧‍👦",
    "é\u0301\u0301\u0301",
    "한국어",
    "שלום",
    "\ud800",
    "${alert(1)}",
    "\\u003cscript>",
]
FAMILIES = {
    "rnn": lambda: translated("additive"),
    "transformer": lambda: translated("transformer"),
    "gpt": lambda: read("the quick brown fox jumps over the lazy dog. "),
    "fixed": lambda: translated("fixed"),
    "vit": classified,
    "resnet": lambda: classified(kind="resnet", width=4, blocks=1, stages=2),
}
VIEWS = {
    "rnn": ["alignment", "heads"],
    "transformer": ["alignment", "heads", "step"],
    "gpt": ["alignment", "heads", "next", "step"],
    "fixed": ["alignment"],
    "vit": ["image", "heads", "step"],
    "resnet": ["image"],
}


def named(look: Look, run: str) -> Look:
    return replace(look, about={"run": run, "task": "translation" if "source" in look.scene.lines else "language"})


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("pages")
    for name, made in FAMILIES.items():
        (folder / f"{name}.html").write_text(static_document([named(made(), f"runs/{name}")]), "utf-8")
    both = [named(translated(kind), f"runs/{kind}") for kind in ("additive", "transformer")]
    (folder / "both.html").write_text(static_document(both), "utf-8")
    return {path.stem: path.as_uri() for path in folder.iterdir()}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_view_opens(family: str, browser: Any, files: dict[str, str]) -> None:
    tab = Tab(browser)
    page = tab.open(files[family])
    assert page.locator("nav button").evaluate_all("all => all.map(one => one.dataset.view)") == VIEWS[family]
    for view in VIEWS[family]:
        page.locator(f'nav [data-view="{view}"]').click()
        tab.drawn(view)
        assert page.locator("#view .card").count() >= 1
        assert page.locator("#view .problem").count() == 0
    assert tab.said == []
    assert at_home(tab, "file:")
    tab.context.close()


def test_a_map_is_hovered_clicked_and_kept(browser: Any, files: dict[str, str]) -> None:
    tab = Tab(browser)
    page = tab.open(files["transformer"], "view=alignment&panel=cross")
    box = page.locator(".map canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.7)
    assert "→" in tab.text("#tip")
    page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.99)
    page.wait_for_url("**step=7**")
    assert "Step 8 of 8" in tab.text(".columns > div:last-child h2")
    saved = {}
    for kind in ("png", "svg", "csv"):
        with page.expect_download() as found:
            page.locator(f'[data-save="{kind}"]').click()
        saved[kind] = Path(found.value.path()).read_bytes()
    assert saved["png"].startswith(b"\x89PNG")
    assert saved["svg"].startswith(b"<svg")
    rows = list(csv.reader(io.StringIO(saved["csv"].decode())))
    wanted = translated("transformer").panel("cross").table().tolist()
    assert [row[0] for row in rows[1:]] == [*["a", "dog", "runs", "across", "the", "green", "meadow"], "<eos>"]
    for row, weights in zip(rows[1:], wanted, strict=True):
        assert [float(one) for one in row[1:]] == pytest.approx(weights, abs=2e-5)
    assert tab.said == []
    tab.context.close()


def test_heads_are_switched_summed_and_held_against_each_other(browser: Any, files: dict[str, str]) -> None:
    tab = Tab(browser)
    page = tab.open(files["gpt"], "view=heads&head=masked.0.0&words=0")
    assert page.locator(".grid button").count() == 4
    tab.does('[data-head="masked.1.1"]')
    assert "masked, layer 1, head 1" in tab.text("#view")
    tab.open(files["gpt"], "view=heads&head=masked.1.1&rows=3,5&words=0")
    sums = [float(one) for one in page.locator("#summed .p").all_inner_texts()]
    weights = FAMILIES["gpt"]().weights("masked", 1, 1)
    assert sums == pytest.approx(sorted((weights[3] + weights[5]).tolist(), reverse=True)[: len(sums)], abs=6e-4)
    page.locator('[data-head="masked.0.1"]').click(modifiers=["Shift"])
    page.wait_for_selector("text=masked.1.1 − masked.0.1")
    page.keyboard.press(".")
    page.wait_for_url("**head=masked**")
    assert tab.said == []
    tab.context.close()


def test_all_heads_of_a_layer_have_a_colour_each(browser: Any, files: dict[str, str]) -> None:
    """[N2:605]: different colours are different heads."""
    tab = Tab(browser)
    page = tab.open(files["gpt"], "view=heads&head=masked.1.0&words=0&rows=6")
    strokes = "all => [...new Set(all.map(one => one.getAttribute('stroke')))]"
    assert page.locator(".lines path").evaluate_all(strokes) == ["var(--accent)"]
    tab.does('[data-do="every"]')
    assert "every=1" in page.url
    assert len(page.locator(".lines path").evaluate_all(strokes)) == 2
    assert page.locator(".lines .bar .note").all_inner_texts() == ["● 0 (this)", "● 1"]
    weights = [FAMILIES["gpt"]().weights("masked", 1, head)[6] for head in (0, 1)]
    assert page.locator(".lines path").count() == sum(int((one >= 0.02).sum()) for one in weights)
    assert tab.said == []
    tab.context.close()


def test_chances_follow_temperature_and_cuts(browser: Any, files: dict[str, str]) -> None:
    tab = Tab(browser)
    look = FAMILIES["gpt"]()
    states = look.scene.run(look.scene.pieces[0])[0, 6]
    for settings, change in (
        ("", {}),
        ("&temperature=0.5", {"temperature": 0.5}),
        ("&topK=3", {"top_k": 3}),
        ("&topP=0.3", {"top_p": 0.3}),
    ):
        from regard.decoding.sample import Sample

        tab.open(files["gpt"], f"view=next&step=6{settings}")
        wanted = Sample(**change).spread(look.scene.model.head(states)[None].detach())[0].sort(descending=True).values
        shown = tab.page.locator(".bars .p").all_inner_texts()
        for text, chance in list(zip(shown, wanted.tolist(), strict=False))[:5]:
            assert (
                text == "0"
                if chance == 0
                else float(text.strip(" %<>")) == pytest.approx(100 * chance, rel=0.02, abs=0.06)
            )
    assert tab.said == []
    tab.context.close()


def test_one_step_is_reckoned_as_the_model_does(browser: Any, files: dict[str, str]) -> None:
    tab = Tab(browser)
    tab.open(files["gpt"], "view=step&head=masked.1.0&step=9")
    weights = FAMILIES["gpt"]().weights("masked", 1, 0)[9].tolist()
    shown = [float(row) for row in tab.page.locator(".numbers tbody td:nth-child(6)").all_inner_texts()]
    assert shown == pytest.approx(weights[: len(shown)], abs=6e-5)
    assert "within" in tab.text("#closing")
    tab.does('[data-do="scale"]')
    assert "Without ÷ √d" in tab.text("#closing")
    assert tab.said == []
    tab.context.close()


def test_runs_stand_side_by_side_also_on_a_telephone(browser: Any, files: dict[str, str]) -> None:
    for width in (1280, 390):
        tab = Tab(browser, viewport={"width": width, "height": 800}, color_scheme="dark")
        page = tab.open(files["both"])
        assert page.locator(".compare .card").count() == 2
        for view in ("compare", "alignment", "heads"):
            page.locator(f'nav [data-view="{view}"]').click()
            tab.drawn(view)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.said == []
        tab.context.close()


def test_words_say_what_is_seen_by_day_and_by_night(browser: Any, files: dict[str, str]) -> None:
    """In the dark what is most is bright; gradients have no kernel; and an image has neither tokens nor words."""
    for scheme, first in (("light", "dark is first"), ("dark", "bright is first")):
        tab = Tab(browser, color_scheme=scheme)
        tab.open(files["gpt"], "view=next")
        assert first in tab.text("#lens")
        tab.context.close()
    tab = Tab(browser)
    page = tab.open(files["fixed"])
    assert "By gradients" in page.inner_text("#view")
    assert "kernel" not in page.inner_text("#view")
    tab.open(files["transformer"], "view=alignment&panel=cross")
    assert "kernel" in page.inner_text("#view")
    tab.open(files["vit"], "view=heads")
    assert "nats, " in tab.text(".facts")
    assert "token" not in tab.text(".facts")
    assert page.get_by_role("button", name="words").count() == 0
    tab.context.close()


def test_on_a_telephone_the_numbers_of_a_step_are_in_sight(browser: Any, files: dict[str, str]) -> None:
    tab = Tab(browser, viewport={"width": 390, "height": 800})
    page = tab.open(files["transformer"], "view=step")
    for column in ("q · k", "softmax"):
        box = page.locator(".numbers th", has_text=column).bounding_box()
        assert box["x"] + box["width"] <= 390
    tab.context.close()


def test_of_many_heads_the_large_one_stays_in_reach_and_a_story_opens_at_its_place(
    browser: Any, tmp_path: Path
) -> None:
    many = named(read("the fox ", layers=32), "runs/deep")
    story = {
        "title": "t",
        "where": "w",
        "notes": "n",
        "found": "f",
        "verdict": "v",
        "opens": "view=heads&head=masked.3.1",
    }
    (tmp_path / "many.html").write_text(static_document([many], story), "utf-8")
    tab = Tab(browser)
    page = tab.open((tmp_path / "many.html").as_uri())
    assert page.get_attribute("#view", "data-view") == "heads"
    assert page.get_attribute('[data-head="masked.3.1"]', "aria-pressed") == "true"
    assert page.locator("#view .map").bounding_box()["y"] < 1000  # 32 layers below each other are 3,000 high
    page.locator('[data-head="masked.31.0"]').click()
    tab.drawn("heads")
    assert tab.said == []
    tab.context.close()


def test_a_hundred_hostile_tokens_are_text(browser: Any, tmp_path: Path) -> None:
    chance = random.Random(1)
    tokens = [*HOSTILE, *("".join(chance.sample(HOSTILE, 2)) for _ in range(100 - len(HOSTILE)))]
    look = read("the quick brown fox jumps over the lazy dog. " * 3, context=200)
    scene = look.scene
    lines = {
        side: replace(
            line,
            tokens=(row := tuple(tokens[: len(line)] + list(line.tokens[100:]))),
            words=row,
            texts=row,
            spans=tuple((n, n + 1) for n in range(len(line))),
        )
        for side, line in scene.lines.items()
    }
    scene = replace(scene, lines=lines, read="".join(tokens), names=lambda ids: [tokens[one % 100] for one in ids])
    file = tmp_path / "hostile.html"
    file.write_bytes(
        static_document([replace(look, scene=scene, about={"run": "<b>runs</b>"})]).encode("utf-8", "replace")
    )
    tab = Tab(browser)
    for view in ("alignment", "heads&rows=0,1,2", "next", "step"):
        page = tab.open(file.as_uri(), f"view={view}")
        assert page.locator("#view img, #view script, #view iframe, header b b").count() == 0
        assert "owned" not in page.title() or "<script>" in page.title()
    shown = tab.open(file.as_uri(), "view=next").locator(".text span").all_inner_texts()
    assert shown[1] == HOSTILE[0]
    assert tab.said == []
    assert at_home(tab, "file:")
    tab.context.close()


def test_a_live_translation_is_forced_and_goes_back(browser: Any, live: Any) -> None:
    from seen_models import SOURCE, translator

    from regard.looking.look import gather
    from regard.tasks.translation.scene import translation_scene

    look = gather(
        translation_scene(translator("transformer"), SOURCE, "a dog runs"), {"run": "r", "task": "translation"}
    )
    server = live(look)
    tab = Tab(browser)
    page = tab.open(server.address, "view=alignment&step=1")
    words = page.locator("header .said b").last
    assert words.inner_text() == "a dog runs"
    other = page.locator(".bars button.token:not(.said-one)").nth(1)
    chosen = int(other.get_attribute("data-id"))
    other.click()
    page.wait_for_selector("text=undo")
    assert words.inner_text() != "a dog runs"
    ids = look.scene.lines["outputs"].ids
    assert server.live.looks[0].scene.lines["outputs"].ids[:2] == (ids[0], chosen)
    page.locator("text=undo").click()
    page.wait_for_selector("text=undo", state="detached")
    assert words.inner_text() == "a dog runs"
    assert tab.said == []
    assert at_home(tab, server.address)
    tab.context.close()


def test_a_live_text_is_stepped_branched_and_loses_heads(browser: Any, live: Any) -> None:
    server = live(named(read("the quick brown "), "r"))
    tab = Tab(browser)
    page = tab.open(server.address, "view=next&more=3")
    before = page.locator(".text span").count()
    page.locator('[data-do="step"]').click()
    page.wait_for_selector('[data-do="undo"]')
    assert page.locator(".text span").count() == before + 1
    tab.does('.text span[data-step="5"]')
    page.locator(".bars button.token").nth(2).click()
    page.wait_for_selector('.text span[data-step="10"]', state="detached")
    page.locator('nav [data-view="heads"]').click()
    tab.drawn("heads")
    page.locator("[data-off]").click()
    page.wait_for_selector("#without dl")
    look = server.live.looks[0]
    gone = look.without("masked.0.0", again=False)
    assert f"{gone.loss[0]:.3f} → {gone.loss[1]:.3f}" in tab.text("#without")
    assert tab.said == []
    assert at_home(tab, server.address)
    tab.context.close()
