#!/usr/bin/env bash
# Makes the guide as a static site with search in FOLDER, which must be new: every page of the tree at its place, the C API's from rooftile.h.
#
#   scripts/site.sh FOLDER
#
# By MkDocs (PyPI), which is $MKDOCS, else the one that is there: `python3 -m venv v && v/bin/pip install mkdocs`, MKDOCS=v/bin/mkdocs. A link
# that leads nowhere ends it (--strict). Pages need no network.
set -euo pipefail
[ $# = 1 ] || { echo "site.sh: name the folder to make: scripts/site.sh FOLDER" >&2; exit 2; }
[ ! -e "$1" ] || { echo "site.sh: $1: is there already; name a new folder" >&2; exit 2; }
mkdocs=${MKDOCS:-mkdocs}
command -v "$mkdocs" >/dev/null || { echo "site.sh: MkDocs is not there: python3 -m venv v && v/bin/pip install mkdocs, then MKDOCS=v/bin/mkdocs" >&2; exit 1; }
tree=$(cd "$(dirname "$0")/.." && pwd)
out=$(realpath -m -- "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 - "$tree" "$work" <<'PY'
import os, re, shutil, subprocess, sys
from pathlib import Path
tree, work = map(Path, sys.argv[1:])
pages = work / "pages"
listed = subprocess.run(["git", "-C", tree, "ls-files", "-z"], capture_output=True, text=True, check=True).stdout.split("\0")
files = [Path(name) for name in listed if name and not name.startswith("tests/data/")]

def target(page, link):
    """A folder's link leads to its README, or to its first file; anything else of the tree stays and is copied."""
    path, hash_, anchor = link.partition("#")
    if not path or "://" in path or path.startswith("mailto:"):
        return link
    full = Path(os.path.normpath(page.parent / path))
    if (tree / full).is_dir():
        inside = [name for name in files if full in name.parents]
        full = next((name for name in inside if name == full / "README.md"), inside[0])
    wanted.add(full)
    return os.path.relpath(full, page.parent) + hash_ + anchor

wanted = set()
for page in [name for name in files if name.suffix == ".md"]:
    text = (tree / page).read_text(encoding="utf-8")
    text = re.sub(r"(\]\()([^)\s]+)(\))", lambda m: m[1] + target(page, m[2]) + m[3], text)
    place = pages / page
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")
for name in wanted:
    if name.suffix != ".md" and (tree / name).is_file():
        (pages / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(tree / name, pages / name)

# The C API: comments of the header are the words, what they stand before is code.
header = (tree / "rooftile.h").read_text(encoding="utf-8")
body = header[header.index("typedef struct"):header.rindex("#ifdef __cplusplus")]
api = ["# C API", "", "From [rooftile.h](rooftile.h), which has more words.", ""]
for part in re.split(r"/\* ---- (.+?) ---- \*/", body)[1:]:
    api += [f"## {part}", ""] if re.fullmatch(r"[a-z ]+", part) else ["```c", part.strip().replace("ROOFTILE_PUBLIC ", ""), "```", ""]
(pages / "c_api.md").write_text("\n".join(api), encoding="utf-8")
shutil.copyfile(tree / "rooftile.h", pages / "rooftile.h")
guides = sorted(name for name in files if name.parent == Path("docs/guide") and name.suffix == ".md")
nav = "\n".join(["  - README.md", "  - Guide:", *(f"      - {name}" for name in guides), "  - C API: c_api.md", "  - Method: docs/method.md",
                 "  - Results: docs/results/README.md", "  - Design: docs/DESIGN.md"])
(work / "mkdocs.yml").write_text(f"""site_name: rooftile
docs_dir: pages
use_directory_urls: false
theme: {{name: readthedocs, highlightjs: false}}
plugins: [search]
markdown_extensions: [tables, fenced_code, toc]
validation: {{nav: {{omitted_files: ignore}}, links: {{not_found: warn, unrecognized_links: warn, anchors: warn}}}}
nav:
{nav}
""", encoding="utf-8")
PY
"$mkdocs" build --strict --quiet --config-file "$work/mkdocs.yml" --site-dir "$out"
echo "$out: $(find "$out" -name '*.html' | wc -l) pages, $(du -sh "$out" | cut -f1)"
