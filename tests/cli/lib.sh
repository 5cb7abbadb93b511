# Helpers for the command-line tests: one "ok NAME" or "not ok NAME" line per check.
# $ROOFTILE is the program; $work a fresh folder that goes away at the end.
set -u
work=$(mktemp -d)
trap 'chmod -R u+w "$work" 2>/dev/null; rm -rf "$work"' EXIT
failures=0

ok() { echo "ok $1"; }
not_ok() {
    echo "not ok $1"
    shift
    printf '# %s\n' "$@"
    failures=$((failures + 1))
}

# succeeds NAME COMMAND...: exit status 0. Output is kept in $work/stdout and $work/stderr.
succeeds() {
    local name=$1 status
    shift
    "$@" >"$work/stdout" 2>"$work/stderr" </dev/null
    status=$?
    if [ $status = 0 ]; then ok "$name"; else not_ok "$name" "exit status $status" "$(tail -n 3 "$work/stderr")"; fi
}

# refuses NAME STATUS WORDS COMMAND...: that exit status, one line on stderr that begins "rooftile: ", notes of how an
# option was read aside, and holds WORDS.
refuses() {
    local name=$1 expected=$2 words=$3 status lines
    shift 3
    "$@" >"$work/stdout" 2>"$work/stderr" </dev/null
    status=$?
    lines=$(grep '^rooftile: ' "$work/stderr" | grep -vc '^rooftile: note: ')
    if [ $status = "$expected" ] && [ "$lines" = 1 ] && grep -qF -- "$words" "$work/stderr"; then
        ok "$name"
    else
        not_ok "$name" "exit status $status, expected $expected; wanted: $words" "$(tail -n 3 "$work/stderr")"
    fi
}

# holds NAME WORDS FILE: the file contains the words.
holds() {
    if grep -qF -- "$2" "$3"; then ok "$1"; else not_ok "$1" "no \"$2\" in $3:" "$(head -n 5 "$3")"; fi
}

# lacks NAME WORDS FILE: it does not.
lacks() {
    if grep -qF -- "$2" "$3"; then not_ok "$1" "\"$2\" in $3:" "$(grep -F -- "$2" "$3" | head -n 3)"; else ok "$1"; fi
}

# wait_until PID COMMAND...: until it succeeds, or the process has ended, which is 1. ctest alone limits the time.
wait_until() {
    local pid=$1
    shift
    until "$@" >/dev/null 2>&1; do
        kill -0 "$pid" 2>/dev/null || return 1
        sleep 0.02
    done
}

# needs_pytorch NAME [OLDEST]: sets $python to one that has it, of that version (2.5) or newer, or skips NAME.
needs_pytorch() {
    local old= version
    for python in ${ROOFTILE_PYTHON:-} python3 /usr/bin/python3; do
        version=$("$python" -c "import torch; print(torch.__version__)" 2>/dev/null) || continue
        [ "$(printf '%s\n' "${2:-0}" "$version" | sort -V | head -n 1)" = "${2:-0}" ] && return
        old=$version
    done
    [ -z "$old" ] || skip_all "$1" "PyTorch $old is older than ${2:-0}"
    skip_all "$1" "no python3 with PyTorch"
}

# plain_only NAME WHY: skips it where the program has sanitizers.
plain_only() { ! grep -q '^ROOFTILE_SANITIZE:BOOL=ON' "$(dirname "$ROOFTILE")/CMakeCache.txt" || skip_all "$1" "$2"; }
skip_all() { echo "skipped $1: $2"; exit 77; }
finish() { [ $failures = 0 ]; exit; }
# is NAME GOT WANTED
is() { if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "got \"$2\", wanted \"$3\""; fi; }
# fails_saying WORDS COMMAND...: it fails with one sentence that holds WORDS.
fails_saying() {
    if "${@:2}" >"$work/stdout" 2>"$work/stderr"; then not_ok "$1" "it succeeded"; else holds "$1" "$1" "$work/stderr"; fi
    is "in one line" "$(wc -l <"$work/stderr")" 1
}
# json EXPRESSION: what Python makes of the last command's standard output, named d; a list of one is its one, of several the list. json_is NAME EXPRESSION WANTED
if command -v python3 >/dev/null; then
    json() { python3 -c "import json, re, sys; d = json.load(open('$work/stdout')); l = next((d[k] for k in ('forecasts', 'devices', 'folds', 'types', 'models') if set(d) == {'schema', k}), None); d = d if l is None else l[0] if len(l) == 1 else l; x = ($1); print(x)"; }
    json_is() { is "$1" "$(json "$2" 2>&1)" "$3"; }
else
    json_is() { echo "skipped $1: no python3 to read JSON with"; }
fi
# said_runs FILE: how many runs a converter of scripts/corpora says that it wrote.
said_runs() { awk '/: [0-9]+ runs$/ { sum += $(NF - 1) } END { print sum + 0 }' "$1"; }
# cells COLUMN FILE: the column's cells of a CSV with "|" between.
cells() { python3 -c "import csv; print('|'.join(r['$1'] for r in csv.DictReader(open('$2'))))"; }
# A misspelt helper fails the test; without this bash goes on and nothing is tested.
command_not_found_handle() { echo "not ok command $1: not found"; kill $$; }
