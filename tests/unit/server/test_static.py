"""What the page is made of: all of it here, of known origin, and nothing that text could become."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import httpx
import pytest

from causewatch.server.app import PAGES, static_files
from services.dashboard import Dashboard, a_plant

STATIC = Path(str(files("causewatch.server") / "static"))
ALL = sorted(path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*") if path.is_file())
OURS = [name for name in ALL if not name.startswith("vendor/")]
SCRIPTS = [name for name in OURS if name.endswith((".js", ".mjs"))]
TEXTS = [name for name in OURS if name.endswith((".js", ".mjs", ".css", ".html", ".svg"))]
TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".svg": "image/svg+xml",
    ".md": "text/markdown; charset=utf-8",
    ".LICENSE": "text/plain; charset=utf-8",
}
LARGEST = 3 << 19
"""Bytes altogether: they come over slow links, and are held in memory."""
NAMESPACES = ("http://www.w3.org/2000/svg",)
"""Names that look like addresses, and are never asked for."""
FORBIDDEN = {
    "HTML made of text": r"\.(inner|outer)HTML\b|insertAdjacentHTML|setHTMLUnsafe|\bsrcdoc\b"
    r"|createContextualFragment|DOMParser|document\s*\.\s*write",
    "script made of text": r"\beval\s*\(|\bnew\s+Function\b|(?<![.\w])Function\s*\("
    r"|set(Timeout|Interval)\s*\(\s*[\"'`]|javascript:",
    "a token or cookie": r"document\s*\.\s*cookie|\bsessionStorage\b",
    "a style attribute": r"setAttribute\(\s*[\"']style[\"']|cssText",
    "a handler as text": r"setAttribute\(\s*[\"']on",
}


def read(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


def code(name: str) -> str:
    """A file without its comments."""
    text = read(name)
    if name.endswith((".html", ".svg")):
        return re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    # Strings come first, so that what looks like a comment within one stays.
    parts = re.compile(
        r"""(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)"""
        r"|/\*.*?\*/" + (r"|(?<![:\\/])//[^\n]*" if name.endswith("js") else ""),
        re.DOTALL,
    )
    return parts.sub(lambda found: found["text"] or " ", text)


def test_comments_are_left_out_and_strings_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "STATIC", tmp_path)
    (tmp_path / "a.js").write_text('f("https://x/*y*/"); // https://z\n/* eval( */ g(`//w`);')
    assert code("a.js") == 'f("https://x/*y*/");  \n  g(`//w`);'


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with Dashboard(a_plant(), tmp_path_factory.mktemp("static")) as dashboard:
        with dashboard.client() as made:
            yield made


class TestServed:
    """Each file is served as what it is."""

    def test_every_file(self, client: httpx.Client) -> None:
        assert {name.removeprefix("/") for name in static_files()} == set(ALL)
        for name in ALL:
            answer = client.get(f"/static/{name}")
            assert answer.status_code == 200
            assert answer.content == (STATIC / name).read_bytes()
            ending = "." + name.rpartition(".")[2]
            assert answer.headers["content-type"] == TYPES[ending], name
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cache-control"] == "no-cache"  # a new release is seen at once

    def test_what_has_not_changed_is_not_sent_again(self, client: httpx.Client) -> None:
        tags = set()
        for name in ALL:
            tag = client.get(f"/static/{name}").headers["etag"]
            again = client.get(f"/static/{name}", headers={"If-None-Match": tag})
            assert (again.status_code, again.content) == (304, b"")
            tags.add(tag)
        assert len(tags) == len({(STATIC / name).read_bytes() for name in ALL})
        other = client.get(f"/static/{ALL[0]}", headers={"If-None-Match": '"0000000000000000"'})
        assert other.status_code == 200

    def test_the_page(self, client: httpx.Client) -> None:
        page = (STATIC / "index.html").read_bytes()
        for path in PAGES:
            assert client.get(path.replace("{id}", "0123456789ab")).content == page

    @pytest.mark.parametrize(
        "path",
        ["", "js", "js/", "nothing.js", "../app.py", "%2e%2e/app.py", "..%2fapp.py", "js//dom.js",
         "/etc/passwd", "%00", "js/main.js/", "JS/main.js", "js\\main.js", "%ff"],
    )  # fmt: skip
    def test_nothing_else(self, client: httpx.Client, path: str) -> None:
        answer = client.get(f"/static/{path}")
        assert answer.status_code == 404
        assert set(answer.json()) == {"error"}


class TestCode:
    """Whatever a signal is called, its name stays text."""

    @pytest.mark.parametrize("what", FORBIDDEN)
    def test_no_way_from_text_to_code(self, what: str) -> None:
        pattern = re.compile(FORBIDDEN[what])
        found = [(name, m[0]) for name in TEXTS for m in pattern.finditer(code(name))]
        # `dom.js` names what it refuses.
        assert [one for one in found if one != ("js/dom.js", "cssText")] == []

    def test_no_handlers_and_styles_in_pages(self) -> None:
        for name in TEXTS:
            if name.endswith((".html", ".svg")):
                tags = re.findall(r"<[a-z][^>]*>", code(name), re.IGNORECASE)
                for tag in tags:
                    assert not re.search(r"\son[a-z]+\s*=", tag, re.IGNORECASE), (name, tag)
                    assert not re.search(r"\sstyle\s*=", tag, re.IGNORECASE), (name, tag)
                assert not re.search(r"<style|<script(?![^>]*\ssrc=)", code(name)), name

    def test_nothing_from_elsewhere(self) -> None:
        for name in TEXTS:
            text = code(name)
            for known in NAMESPACES:
                text = text.replace(known, "")
            assert not re.findall(r"(?:https?|wss?|ftp):/*[^\s\"'`]+", text), name
            assert not re.findall(r"""["'`(]//[\w.-]+\.\w""", text), name
            assert not re.findall(r"@import|\burl\(\s*(?![\"']?(?:data:|#))", text), name

    def test_every_import_leads_somewhere(self) -> None:
        known = {name for name in ALL if name.endswith((".js", ".mjs"))}
        seen: set[str] = set()
        for name in SCRIPTS:
            for target in imports(name):
                assert target.startswith("."), (name, target)  # there is no map of names
                path = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
                assert path in known, (name, target)
                seen.add(path)
        entry = set(re.findall(r'src="/static/([^"]+)"', read("index.html")))
        assert known - seen - entry == set()  # and nothing lies about unused

    def test_what_is_imported_is_there(self) -> None:
        for name in SCRIPTS:
            for names, target in re.findall(
                r"import\s*\{([^}]*)\}\s*from\s*[\"']([^\"']+)[\"']", code(name)
            ):
                path = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
                if path.startswith("vendor/"):
                    continue
                given = exports(path)
                wanted = {one.split(" as ")[0].strip() for one in names.split(",")} - {""}
                assert wanted <= given, (name, target, wanted - given)

    def test_every_part_that_a_page_names_is_there(self) -> None:
        named = re.findall(r'(?:src|href)="/static/([^"]+)"', read("index.html"))
        assert set(named) <= set(ALL)
        sheets = {name for name in OURS if name.endswith(".css")}
        assert sheets <= set(named)


def imports(name: str) -> list[str]:
    """What a script imports, at its beginning or later."""
    text = code(name)
    first = re.findall(
        r"^(?:import|export)\s(?:[^\"';]*?\bfrom\s*)?[\"']([^\"']+)", text, re.MULTILINE
    )
    later = re.findall(r"\bimport\s*\(\s*[\"']([^\"']+)[\"']\s*\)", text)
    # One whose address is computed could not be checked, nor one that this does not find.
    assert len(re.findall(r"\bimport\s*\(", text)) == len(later), name
    assert len(re.findall(r"^import\s", text, re.MULTILINE)) <= len(first), name
    return [*first, *later]


def exports(name: str) -> set[str]:
    """What others may import from a script."""
    text = code(name)
    found = set(re.findall(r"export\s+(?:async\s+)?(?:function\*?|const|let|class)\s+(\w+)", text))
    for group in re.findall(r"export\s*\{([^}]*)\}", text):
        found |= {one.split(" as ")[-1].strip() for one in group.split(",")} - {""}
    return found


class TestVendor:
    """Libraries of others are what they say, with their licences."""

    def test_each_is_known(self) -> None:
        rows = [
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in read("vendor/README.md").splitlines()
            if line.startswith("| ") and "---" not in line
        ][1:]
        known = {row[0]: row for row in rows}
        there = {name.removeprefix("vendor/") for name in ALL if name.startswith("vendor/")}
        licences = {name for name in there if name.endswith(".LICENSE")}
        assert there - licences - {"README.md"} == set(known)
        named = set()
        for file, package, version, licence, digest in known.values():
            content = (STATIC / "vendor" / file).read_bytes()
            assert hashlib.sha256(content).hexdigest() == digest, file
            assert re.fullmatch(r"[a-z0-9@/._-]+", package)
            assert re.fullmatch(r"\d+\.\d+\.\d+", version)
            beside = re.fullmatch(r"MIT \((.+\.LICENSE)\)", licence)
            assert beside is not None
            named.add(beside[1])
            if file.endswith("js"):
                assert version.encode() in content, file
        assert named == licences
        for name in licences:
            assert "Permission is hereby granted" in read(f"vendor/{name}")

    def test_no_map_of_the_source_is_asked_for(self) -> None:
        for name in ALL:
            if name.endswith((".js", ".mjs", ".css")):
                assert "sourceMappingURL" not in read(name), name


def test_it_is_small() -> None:
    assert sum((STATIC / name).stat().st_size for name in ALL) < LARGEST
    lines = {name: read(name).count("\n") for name in SCRIPTS}
    assert max(lines.values()) < 400, max(lines, key=lambda name: lines[name])
