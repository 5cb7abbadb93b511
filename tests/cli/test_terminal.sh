#!/usr/bin/env bash
# Reports follow the terminal: its width, NO_COLOR, TERM, a pager. In files and pipes they are the same whatever it is.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all terminal "no python3"
cd "$work" || exit
python3 -c 'import os, pty; pty.openpty()' 2>/dev/null || skip_all terminal "no pseudo-terminals here"
escape=$(printf '\033')
unset NO_COLOR PAGER COLUMNS LINES LESS
export ROOFTILE_PAGER=cat # or a person would have to leave less
export TERM=xterm

# on SIZE NAME COMMAND...: what a terminal of that size shows, in the file NAME. plain NAME: without styles.
on() { python3 "$ROOFTILE_SOURCE/tests/cli/terminal.py" "$1" "${@:3}" >"$2" </dev/null; }
plain() { sed -e "s/$escape\[[0-9;]*m//g" "$1"; }
# widest NAME: letters of its longest line.
widest() { plain "$1" | python3 -c 'import sys; print(max(len(line.rstrip("\n")) for line in sys.stdin))'; }
# within NAME LETTERS FILE: no line is longer.
within() { if [ "$(widest "$3")" -le "$2" ]; then ok "$1"; else not_ok "$1" "a line has $(widest "$3") letters"; fi; }
# same NAME FILE: the terminal shows the bytes of the file "piped" and ends with status 0.
same() { if plain "$2" | sed '$d' | cmp -s - piped; then ok "$1"; else not_ok "$1" "$(plain "$2" | diff - piped | head -n 4)"; fi; }
words() { plain "$1" | sed '$d' | tr -s ' \n' '\n' | sort -u; }

list=("$ROOFTILE" devices)
"${list[@]}" >piped
on 400x500 wide "${list[@]}"
same "a wide terminal shows what a file holds" wide
holds "with its columns' names dim" "$escape[2m" wide

NO_COLOR=1 on 400x500 uncoloured "${list[@]}"
lacks "NO_COLOR: no styles" "$escape" uncoloured
NO_COLOR='' on 400x500 coloured "${list[@]}"
holds "an empty NO_COLOR is none" "$escape[2m" coloured
TERM=dumb on 400x500 dumb "${list[@]}"
lacks "TERM=dumb: no styles" "$escape" dumb
TERM='' on 400x20 unset "${list[@]}"
lacks "no TERM: no styles and no pager" "$escape" unset
COLUMNS=60 LINES=10 ROOFTILE_PAGER='tr a-z A-Z' "${list[@]}" >other
if cmp -s other piped; then ok "a pipe knows no COLUMNS and no pager"; else not_ok "a pipe knows no COLUMNS and no pager"; fi

for width in 40 60 80 120; do
    on ${width}x500 narrow "${list[@]}"
    within "$width columns: no line is longer" $width narrow
    lost=$(comm -13 <(words narrow) <(words wide)) # words that the wide one has alone
    is "$width columns: nothing is lost" "$lost" ""
done
COLUMNS=70 on 400x500 columns "${list[@]}"
within "COLUMNS counts before the terminal's own size" 70 columns
COLUMNS=wide on 400x500 wrong "${list[@]}"
same "COLUMNS that is no number is ignored" wrong
on 0x0 unknown "${list[@]}"
same "a terminal of no known size shows what a file holds" unknown

forecast=("$ROOFTILE" predict --gpu L4 --model bert-base)
"${forecast[@]}" >piped 2>/dev/null
on 50x500 narrow "${forecast[@]}"
within "facts, tables and notes in 50 columns" 50 narrow
on 300x500 wide "${forecast[@]}"
is "as many words as in a file" "$(comm -3 <(words wide) <(sort -u <(tr -s ' \n' '\n' <piped)))" ""
on 60x500 narrow "$ROOFTILE" predict --help
within "--help in 60 columns" 60 narrow

# Pagers: one that writes what it reads into a file shows nothing itself.
export ROOFTILE_PAGER='cat >paged'
on 80x10 shown "${list[@]}"
is "what is longer than the screen goes through the pager" "$(cat shown)" "status 0"
on 80x10000 unpaged "${list[@]}"
if sed '$d' unpaged | cmp -s - paged; then ok "whole and with its styles"; else not_ok "whole and with its styles"; fi
for off in --no-pager "--gpu=L4 --no-pager"; do
    rm -f paged
    on 80x10 shown "$ROOFTILE" predict --model bert-base --gpu L4 $off
    if [ -e paged ]; then not_ok "$off: no pager"; else holds "$off: no pager" "bert-base" shown; fi
done
on 80x10 shown "$ROOFTILE" --no-pager devices
holds "--no-pager before the command" "H100" shown
for off in '' cat; do
    ROOFTILE_PAGER=$off PAGER='cat >paged' on 80x10 shown "${list[@]}"
    holds "ROOFTILE_PAGER=\"$off\": no pager" "H100" shown
done
rm -f paged
unset ROOFTILE_PAGER # PAGER is set below, always
PAGER='cat >paged' on 80x10 shown "${list[@]}"
holds "PAGER where there is no ROOFTILE_PAGER" "H100" paged
PAGER='true' on 80x10 shown "${list[@]}"
is "a pager that is closed early is no error" "$(cat shown)" "status 0"
PAGER='no-such-pager' on 80x10 shown "${list[@]}"
holds "without the pager the report is printed" "H100" shown
holds "and that is no error" "status 0" shown
PAGER='cat >json' on 80x10 shown "${list[@]}" --json
if [ -e json ]; then not_ok "JSON is not paged"; else holds "JSON is not paged" '"name"' shown; fi

on 80x24 shown "$ROOFTILE" predict --gpu L44 --model bert-base
holds "errors are red" "$escape[31mrooftile:$escape[0m" shown
holds "and fail as they do elsewhere" "status 1" shown
NO_COLOR=1 on 80x24 shown "$ROOFTILE" predict --gpu L44 --model bert-base
lacks "but not with NO_COLOR" "$escape" shown
finish
