"""The page in a real browser: every view of every family, and nothing that a token could do in it."""

import csv
import io
import math
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch
from seen_browser import Tab, at_home
from seen_models import SOURCE, TARGET, classified, read, translated

from regard.looking.look import Look
from regard.looking.page.chances import lens
from regard.looking.page.document import static_document
from regard.looking.page.reckoning import reckon

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
    "gpt": lambda: read("the quick brown fox jumps over the lazy dog. ", positions="alibi"),
    "fixed": lambda: translated("fixed"),
    "vit": classified,
    "resnet": lambda: classified(kind="resnet", width=4, blocks=1, stages=2),
}
VIEWS = {
    "rnn": ["alignment", "heads", "step"],
    "transformer": ["alignment", "heads", "step"],
    "gpt": ["alignment", "heads", "next", "step"],
    "fixed": ["alignment"],
    "vit": ["image", "heads", "step"],
    "resnet": ["image"],
}


def saved(page: Any, kind: str) -> bytes:
    """What a button gives to keep."""
    with page.expect_download() as found:
        page.locator(f'[data-save="{kind}"]').click()
    return Path(found.value.path()).read_bytes()


def cells(page: Any) -> list[list[str]]:
    """What the button for CSV gives."""
    return list(csv.reader(io.StringIO(saved(page, "csv").decode())))


def named(look: Look, run: str) -> Look:
    return replace(look, about={"run": run, "task": "translation" if "source" in look.scene.lines else "language"})


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("pages")
    for name, made in FAMILIES.items():
        (folder / f"{name}.html").write_text(static_document([named(made(), f"runs/{name}")]), "utf-8")
    both = [named(translated(kind), f"runs/{kind}") for kind in ("additive", "transformer")]
    (folder / "short.html").write_text(static_document([named(read("thequick"), "runs/gpt")]), "utf-8")
    (folder / "both.html").write_text(static_document(both), "utf-8")
    return {path.stem: path.as_uri() for path in folder.iterdir()}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_view_opens(family: str, browser: Any, files: dict[str, str]) -> None:
    tab = Tab(browser)
    page = tab.open(files[family])
    assert page.locator("nav button").evaluate_all("all => all.map(one => one.dataset.view)") == VIEWS[family]
    views = len(VIEWS[family])
    assert page.inner_text("#foot").split()[:2] == [f"1–{views}" if views > 1 else "1", "views"]
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
    target, _, source, weight = tab.text("#tip").split()
    exact = translated("transformer").panel("cross").table()[TARGET.split().index(target), SOURCE.split().index(source)]
    assert float(weight) == pytest.approx(float(exact), abs=1e-3)
    page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.99)
    page.wait_for_url("**step=7**")
    assert "Step 8 of 8" in tab.text(".columns > div:last-child h2")
    assert saved(page, "png").startswith(b"\x89PNG")
    assert saved(page, "svg").startswith(b"<svg")
    rows = cells(page)
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
    assert "causal self-attention, layer 1, head 1" in tab.text("#view")
    tab.open(files["gpt"], "view=heads&head=masked.1.1&rows=3,5&words=0")
    sums = [float(one) for one in page.locator("#summed .p").all_inner_texts()]
    weights = FAMILIES["gpt"]().weights("masked", 1, 1)
    assert sums == pytest.approx(sorted((weights[3] + weights[5]).tolist(), reverse=True)[: len(sums)], abs=6e-4)
    page.locator('[data-head="masked.0.1"]').click(modifiers=["Shift"])
    page.wait_for_selector("text=masked.1.1 − masked.0.1")
    found = torch.tensor([[float(one) for one in row[1:]] for row in cells(page)[1:]])
    torch.testing.assert_close(found, weights - FAMILIES["gpt"]().weights("masked", 0, 1), rtol=0, atol=4e-5)
    page.keyboard.press(".")
    page.wait_for_url("**head=masked**")
    assert tab.said == []
    tab.context.close()


def test_words_are_merged_as_everywhere_else(browser: Any, files: dict[str, str]) -> None:
    tab = Tab(browser)
    page = tab.open(files["gpt"], "view=heads&head=masked.1.0&words=1")
    panel = FAMILIES["gpt"]().panel("masked.1.0")
    head, *rows = cells(page)
    assert head[1:] == [row[0] for row in rows] == list(panel.columns.words)
    found = torch.tensor([[float(one) for one in row[1:]] for row in rows])
    torch.testing.assert_close(found, panel.table(), rtol=0, atol=1e-4)
    tab.context.close()


def test_a_thumbnail_is_of_the_head_under_which_it_stands(browser: Any, files: dict[str, str]) -> None:
    tab = Tab(browser, color_scheme="light")
    page = tab.open(files["gpt"], "view=heads&head=masked.0.0")
    look = FAMILIES["gpt"]()
    for name in ("masked.0.1", "masked.1.0"):
        pixels = page.locator(f'[data-head="{name}"] canvas').evaluate(
            "one => [...one.getContext('2d').getImageData(0, 0, one.width, one.height).data]"
        )
        shown = 255 - torch.tensor(pixels, dtype=torch.float32).view(-1, 4)[:, :3].mean(1)  # dark is much
        weights = look.panel(name).table(False).sqrt().flatten()
        assert float(torch.corrcoef(torch.stack([shown, weights]))[0, 1]) > 0.95
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
        ("&topK=4&topP=0.5&temperature=2", {"top_k": 4, "top_p": 0.5, "temperature": 2.0}),
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


def test_surprise_is_in_bits_and_ranks_go_up_to_the_last_layer(browser: Any, files: dict[str, str]) -> None:
    tab, look = Tab(browser), FAMILIES["gpt"]()
    page = tab.open(files["gpt"], "view=next")
    bits = [cost / math.log(2) for cost in look.scene.costs()]
    said = page.locator(".text span[data-step]").evaluate_all("all => all.map(one => one.title)")
    assert [float(re.search(r": ([\d.]+) bits", one)[1]) for one in said[:-1]] == pytest.approx(bits, abs=6e-3)
    assert f"{sum(bits) / len(bits):.2f} bits a token" in tab.text("#view")
    _, *rows = cells(page)
    assert [row[0] for row in rows] == ["layer 1", "layer 0"]
    wanted = 1 / torch.tensor(lens(look.scene)).float()
    found = torch.tensor([[float(one) for one in row[1:]] for row in rows])
    torch.testing.assert_close(found, wanted.T.flip(0), rtol=1e-4, atol=1e-5)
    tab.context.close()


def test_one_step_is_reckoned_as_the_model_does(browser: Any, files: dict[str, str]) -> None:
    tab = Tab(browser)
    tab.open(files["gpt"], "view=step&head=masked.1.0&step=9")
    weights = FAMILIES["gpt"]().weights("masked", 1, 0)[9].tolist()
    shown = [float(row) for row in tab.page.locator(".numbers tbody td:nth-child(6)").all_inner_texts()]
    assert shown == pytest.approx(weights[: len(shown)], abs=6e-5)
    assert "within" in tab.text("#closing")
    entropy = -sum(one * math.log2(one) for one in weights if one)
    assert f"Entropy {entropy:.2f} bits" in tab.text("#closing")
    values = reckon(FAMILIES["gpt"](), "masked.1.0").values
    mixed = (torch.tensor(weights) @ values)[:8].tolist()
    shown = [float(one) for one in tab.page.locator(".step").last.locator(".note").inner_text().split()[:8]]
    assert shown == pytest.approx(mixed, abs=2e-3)
    tab.does('[data-do="scale"]')
    assert "Without ÷ √d" in tab.text("#closing")
    assert tab.said == []
    tab.context.close()


def test_the_additive_score_is_reckoned_too(browser: Any, files: dict[str, str]) -> None:
    tab = Tab(browser)
    tab.open(files["rnn"], "view=step&step=2")
    assert "vᵀ tanh( W s + U h )" in tab.text("#view")
    weights = FAMILIES["rnn"]().weights("alignment", 0, 0)[2].tolist()
    shown = [float(row) for row in tab.page.locator(".numbers tbody td:nth-child(5)").all_inner_texts()]
    assert shown == pytest.approx(weights, abs=6e-5)
    within = re.search(r"the model's own within (\d)·10⁻(\S)", tab.text("#closing"))
    assert within
    assert within[2] in "⁴⁵⁶⁷⁸"  # the weights of a page have 16 bits
    assert tab.page.locator('[data-do="scale"]').count() == 0
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
    assert "exact" not in page.inner_text("#view")
    tab.open(files["transformer"], "view=alignment&panel=cross")
    assert "Weights exact to" in page.inner_text("#view")
    for name, words in (("gpt", "true"), ("short", "false")):  # a word alone is shown in tokens
        pressed = tab.open(files[name], "view=heads").locator("#view button", has_text="words").first
        assert pressed.get_attribute("aria-pressed") == words
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
    for view in ("next", "alignment"):  # nothing turns the line around, or hides in it
        text = tab.open(file.as_uri(), f"view={view}").locator("body").inner_text()
        assert not set("\u202e\u2066\u200b\ufeff\x00\x1b") & set(text)
    page = tab.open(file.as_uri(), "view=heads")
    ElementTree.fromstring(saved(page, "svg"))  # well-formed: no label is markup
    assert b"<script" not in saved(page, "svg")
    assert not any(cell.startswith(("=", "+", "@")) for row in cells(page) for cell in row)
    assert max(map(len, cells(page))) == len(scene.lines["inputs"]) + 1
    assert tab.said == []
    assert at_home(tab, "file:")
    tab.context.close()


def test_a_live_translation_is_forced_and_goes_back(browser: Any, live: Any) -> None:
    from seen_models import translator

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
    assert f"at {gone.changed} of {gone.tokens} steps" in tab.text("#without")
    assert ("these" in tab.text("#without")) == bool(gone.changes)
    assert tab.said == []
    assert at_home(tab, server.address)
    tab.context.close()
