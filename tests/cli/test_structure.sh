#!/usr/bin/env bash
# The structure of the source as docs/DESIGN.md has it: rooms, directions, no circles, one meaning a name.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
plain_only structure "sources and objects are the same without sanitizers"
command -v python3 >/dev/null || skip_all structure "no python3"
command -v nm >/dev/null || skip_all structure "no nm"
python3 "$ROOFTILE_SOURCE/tests/cli/structure.py" "$ROOFTILE_SOURCE" "$(dirname "$ROOFTILE")"
