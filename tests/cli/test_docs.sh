# The pages: links, paths, functions and options that they name exist, nothing is said twice, README stays short.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
plain_only docs "pages are the same without sanitizers, and cli.help runs every help text"
cd "$ROOFTILE_SOURCE" || exit 1
pages=$(find . -name '*.md' -not -path './build*' -not -path './.*' -not -path '*/node_modules/*' | sed 's,^\./,,' | sort)
docs=$(grep -E '^(README.md|docs/)' <<<"$pages")

# none NAME FILE: no line in the file, else these are what is wrong.
none() { if [ -s "$2" ]; then not_ok "$1" "$(head -n 20 "$2")"; else ok "$1"; fi; }

# --- links: FILE TARGET, anchors as GitHub makes them ---
slugs() { grep -E '^#+ ' "$1" | sed -E 's/^#+ +//' | tr '[:upper:]' '[:lower:]' | sed -E 's/[^a-z0-9 _-]//g; s/ /-/g'; }
for page in $pages; do
    grep -oE '\]\([^)]+\)' "$page" | sed -E 's/^\]\(//; s/\)$//' | while read -r target; do
        case $target in http*://* | mailto:*) continue ;; esac
        file=$(dirname "$page")/${target%%#*}
        case $target in '#'*) file=$page ;; esac
        if [ ! -e "$file" ]; then
            echo "$page: $target is not there"
        elif [ "$target" != "${target#*#}" ] && ! slugs "$file" | grep -qxF -- "${target#*#}"; then
            echo "$page: $target has no such heading"
        fi
    done
done >"$work/links"
none links "$work/links"

# --- pages that sources, help texts and pages name: docs/... ---
grep -rnoE --include='*.[ch]' --include='*.cu*' --include='*.sh' --include='*.py' --include='*.md' --include='*.txt' \
    --include='*.cmake' --exclude-dir=.git --exclude-dir='build*' '(^|[^-a-zA-Z0-9_/])docs/[a-z/_-]+\.(md|csv|c)\b' . |
    while IFS=: read -r file line match; do
        [ -e "docs/${match#*docs/}" ] || echo "$file:$line: docs/${match#*docs/} is not there"
    done >"$work/paths"
none named_pages "$work/paths"

# --- sources that pages name in backquotes: `folder/file.c`; CHANGELOG tells of what was ---
for page in $(grep -v '^CHANGELOG' <<<"$pages"); do
    grep -oE '`[a-z_]+(/[a-zA-Z0-9_.-]+)+\.(c|h|cu|cuh|py|sh|json|md|sbatch)`' "$page" | tr -d '`' | grep -v NAME | sort -u | while read -r path; do
        [ -e "$path" ] || [ -e "$(dirname "$page")/$path" ] || echo "$page: $path is not there"
    done
done >"$work/sources"
none named_sources "$work/sources"

# --- functions and constants that pages name: rt_..., RT_... ---
grep -hoE --include='*.[ch]' -r '\b(rt|RT)_[A-Za-z0-9_]+' base datasets collect models train predict rooftile.? | sort -u >"$work/known"
# shellcheck disable=SC2086  # lists of words
grep -hoE '`[^`]*\b(rt|RT)_[A-Za-z0-9_]+[^`]*`' $docs | grep -oE '\b(rt|RT)_[A-Za-z0-9_]+' | sort -u | comm -23 - "$work/known" >"$work/unknown"
none named_functions "$work/unknown"

# --- commands of README and the guides ---
# The command lines of a page's blocks: in a block that begins with "$ " those that do, else all; continued lines joined.
commands() {
    awk '/^```/ { inside = !inside; first = 1; next }
         inside { if (first) prompt = /^\$ /; first = 0
                  if (prompt && !/^\$ / && !more) next
                  sub(/^\$ /, ""); sub(/ +#.*/, ""); more = sub(/ *\\$/, " "); printf "%s%s", $0, more ? "" : "\n" }' "$1"
}
commands README.md | grep -v '^ *$' | while read -r program rest; do
    case $program in
    rooftile | build/rooftile | cmake | cc | git) ;;
    ./forecast) [ -e docs/examples/forecast.c ] || echo "$program" ;;
    *) [ -x "$program" ] || echo "README.md: $program is no known command: $program $rest" ;;
    esac
done >"$work/programs"
none readme_commands "$work/programs"

for page in README.md docs/guide/*.md docs/results/*.md; do
    { commands "$page" && grep -E '^ {4}rooftile ' "$page"; } | sed -E 's/^ *(build\/)?//' | grep -E '^rooftile [a-z]' | sort -u |
        while read -r _ command rest; do
            words=$command
            [ "$command" != dataset ] || words="$command ${rest%% *}"
            # shellcheck disable=SC2086  # a list of words
            "$ROOFTILE" $words --help >"$work/help" 2>&1 || echo "$page: there is no command $words"
            grep -oE -- '(^| )--[a-z][a-z0-9-]*' <<<"$rest" | sort -u | while read -r option; do
                grep -qE -- "$option([^a-z0-9-]|\$)" "$work/help" || echo "$page: $words has no option $option"
            done
        done
done >"$work/options"
none options_exist "$work/options"

# --- nothing twice: long lines and rows of tables, outside of blocks of code ---
# shellcheck disable=SC2086  # a list of words
awk '/^```/ { code = !code } !code && length >= 60 && !/^\| ?-/' $docs | sort | uniq -d >"$work/twice"
none nothing_twice "$work/twice"

# --- many rows are CSV beside a page ---
for page in $docs; do
    awk -v page="$page" '/^\|/ { if (++rows == 45) print page ":" NR ": a table of 45 rows and more; make it a CSV file" } !/^\|/ { rows = 0 }' "$page"
done >"$work/rows"
none rows_are_csv "$work/rows"

lines=$(wc -l <README.md)
if [ "$lines" -le 100 ]; then ok readme_is_short; else not_ok readme_is_short "$lines lines"; fi

# --- every file begins with what it is; DESIGN.md has a row for every folder of sources, and for no other ---
scripts/rooms.py | grep 'no opening comment' >"$work/unsaid"
none files_begin_with_what_they_are "$work/unsaid"
awk '/^## Rooms/ { on = 1 } /^## / && !/Rooms/ { on = 0 } on' docs/DESIGN.md | grep -oE '^\| `[a-z_/]+/`' | grep -oE '[a-z_/]+/' |
    sort >"$work/listed"
find base datasets collect models predict train -regex '.*\.\(c\|h\|cu\)' | sed -E 's,[^/]+$,,' | sort -u >"$work/folders"
{ comm -13 "$work/listed" "$work/folders" | sed 's/$/ is not listed/' &&
    while read -r folder; do [ -d "$folder" ] || echo "$folder is listed and not there"; done <"$work/listed"; } >"$work/rooms"
none design_lists_every_folder "$work/rooms"

succeeds results_list scripts/results.sh --list
refuses_table() { ROOFTILE=$ROOFTILE scripts/results.sh -o "$work/results" nothing >"$work/stdout" 2>"$work/stderr"; }
if refuses_table; then not_ok results_names_tables "no refusal"; else holds results_names_tables "there is no table \"nothing\"" "$work/stderr"; fi
finish
