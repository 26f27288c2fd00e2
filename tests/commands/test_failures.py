"""What ended a command, in a line."""

from pathlib import Path

import pytest

from regard.commands.asked import utf8
from regard.commands.failures import told
from regard.commands.surroundings import BeforeTorch
from regard.errors import FailedError, InputError
from regard.run.create import check_new


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")]
)
def test_too_little_memory_names_the_keys_that_help_text_and_images(error: Exception) -> None:
    line, code = told(error)
    assert line.startswith("not enough memory; ")
    assert "task.batch_tokens" in line
    assert "task.batch_images" in line
    assert (len(line.splitlines()), code) == (1, 1)


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (2**28, 2**28))


@pytest.mark.parametrize(
    "error",
    [
        ImportError("libtorch_cpu.so: failed to map segment from shared object"),
        SystemError("error return without exception set"),
        MemoryError(),
    ],
)
def test_too_little_address_space_is_no_bug(error: Exception, narrow: None) -> None:
    said = "not enough memory: the address space is limited to 256 MiB (ulimit -v); raise or lift that limit"
    assert told(error) == (said, 1)


def test_too_little_address_space_is_told_before_torch_is_looked_for(narrow: None) -> None:
    """Its libraries would write lines of their own."""
    asked = BeforeTorch()
    assert asked.find_spec("json", None) is None
    with pytest.raises(FailedError, match="address space is limited to 256 MiB"):
        asked.find_spec("torch", None)


def test_a_working_folder_that_is_gone_is_told_before_torch_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> str:
        raise FileNotFoundError

    monkeypatch.setattr("os.getcwd", gone)
    with pytest.raises(FailedError, match=r"the working folder was removed; change to one that is there \(cd\)"):
        BeforeTorch().find_spec("torch", None)


def test_a_package_that_is_broken_is_named_and_no_bug() -> None:
    line, code = told(ImportError("libgomp.so.1: cannot open shared object file", name="torch._C"))
    assert line.startswith("torch cannot be imported: libgomp.so.1: cannot open shared object file\n")
    assert (line.endswith("-m pip check` says what is missing"), code) == (True, 1)
    for name in ("regard.model", None):
        assert told(ImportError("x", name=name))[0].startswith("a bug in Regard")


def test_a_text_in_utf8_is_one_in_any_locale() -> None:
    """The C locale hands over its bytes as they are."""
    assert utf8("fünf".encode().decode("ascii", "surrogateescape"), "text 1") == "fünf"
    with pytest.raises(InputError, match=r"text 1 is not UTF-8: b'f\\xfc'"):
        utf8(b"f\xfc".decode("ascii", "surrogateescape"), "text 1")


@pytest.mark.parametrize("inside", ["", "run"])
def test_a_link_to_nothing_is_no_place_for_a_run(inside: str, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(InputError, match="link is a link to nowhere, which is not there; choose another out="):
        check_new(tmp_path / "link" / inside)
