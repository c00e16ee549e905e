"""Every example of the pages runs and prints what the page says, and every link to a file leads to one."""

from __future__ import annotations

import random
import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

import documentation
from documentation import Example, PageError, examples_of, run_page

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
LINKED_PAGES = [
    *sorted(REPOSITORY.glob("*.md")),
    *PAGES[1:],
    *sorted((REPOSITORY / "decisions").glob("*.md")),
    REPOSITORY / "tests" / "README.md",
    REPOSITORY / "examples" / "README.md",
]
LINK = re.compile(r"\]\((?P<target>[^)#\s]+)(?:#[^)]*)?\)")


def name_of(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


@pytest.mark.real_time
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_examples_of_the_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # Writers of an example that meet pause for a moment of random length, drawn from the global generator.
    state = random.getstate()
    try:
        run_page(page)
    finally:
        random.setstate(state)


@pytest.mark.parametrize("page", LINKED_PAGES, ids=name_of)
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    targets = [found["target"] for found in LINK.finditer(page.read_text(encoding="utf-8"))]
    assert [target for target in targets if "://" not in target and not (page.parent / target).exists()] == []


def test_the_source_distribution_has_what_the_pages_link_to() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    links = [
        page.parent / found["target"] for page in LINKED_PAGES for found in LINK.finditer(page.read_text(encoding="utf-8")) if "://" not in found["target"]
    ]
    tops = {f"/{link.resolve().relative_to(REPOSITORY).parts[0]}" for link in links}
    assert [top for top in sorted(tops) if not any(fnmatch(top, pattern) for pattern in patterns)] == []


def write(directory: Path, text: str) -> Path:
    page = directory / "page.md"
    page.write_text(text, encoding="utf-8")
    return page


def test_blocks_of_a_page_share_a_namespace_in_order(tmp_path: Path) -> None:
    page = write(tmp_path, "```python\nx = 1\n```\nand\n\n```python\nprint(x + 1)\n```\n\n```text\n2\n```\n")
    assert run_page(page) == 2


def test_a_block_that_fails_is_an_error_at_the_line_of_the_page(tmp_path: Path) -> None:
    page = write(tmp_path, "# Title\n\n```python\nx = 1\nraise ValueError(x)\n```\n")
    with pytest.raises(ValueError, match="1") as raised:
        run_page(page)
    assert raised.traceback[-1].lineno + 1 == 5
    assert raised.traceback[-1].path == page


def test_another_output_than_the_page_says_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PageError, match="line 2"):
        run_page(write(tmp_path, "```python\nprint(1)\n```\n```text\n2\n```\n"))


def test_dots_in_the_expected_output_stand_for_any_text(tmp_path: Path) -> None:
    assert run_page(write(tmp_path, "```python\nprint('seed 4711 found')\n```\n```text\nseed ... found\n```\n")) == 1


def test_a_block_that_awaits_runs_in_an_event_loop(tmp_path: Path) -> None:
    page = write(tmp_path, "```python\nimport asyncio\nawait asyncio.sleep(0)\nprint('done')\n```\n```text\ndone\n```\n")
    assert run_page(page) == 1


def test_annotations_of_an_example_can_be_resolved(tmp_path: Path) -> None:
    source = "import typing\nclass A:\n    x: 'B'\nclass B: ...\nassert typing.get_type_hints(A) == {'x': B}\n"
    assert run_page(write(tmp_path, f"```python\n{source}```\n")) == 1


def test_a_marked_block_is_left_out_and_only_that_one() -> None:
    page = "<!-- not run: needs an account -->\n\n```python\nx\n```\n\n```python\ny\n```\n"
    assert examples_of(page) == [Example("y\n", 8, None)]


def test_a_marker_without_a_reason_leaves_nothing_out() -> None:
    assert len(examples_of("<!-- not run: -->\n```python\nx\n```\n")) == 1


def test_text_after_prose_is_not_the_expected_output() -> None:
    assert examples_of("```python\nx\n```\nA log reads:\n```text\n2\n```\n") == [Example("x\n", 2, None)]


def test_a_block_inside_a_list_is_dedented() -> None:
    assert examples_of("1. First\n\n   ```python\n   x\n     + y\n   ```\n") == [Example("x\n  + y\n", 4, None)]


def test_a_block_in_a_longer_fence_is_text() -> None:
    assert examples_of("````text\n```python\nx\n```\n````\n") == []


def test_a_block_that_is_never_closed_is_an_error() -> None:
    with pytest.raises(PageError, match="line 1"):
        list(documentation.fences_of("```python\nx\n"))
