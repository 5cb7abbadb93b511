#!/usr/bin/env bash
# Makes a folder that is fit to upload out of a dataset and, where there is one, a predictor: the files, their cards, a report,
# a licence and checksums. Nothing is uploaded.
#
#   scripts/publish.sh DATA.h5 [PREDICTOR.h5] -o FOLDER [OPTION...]
#
#   --license NAME        the licence that you publish under: mit, apache-2.0, cc-by-4.0 ... (default: what the files say)
#   --license-file FILE   its text (default: a page that names the licence and those of the sources)
#   --author NAME         who made it
#   --title TEXT          the title of the dataset's card
#   --notes FILE.md       Markdown that ends both cards
#   --citation FILE.bib   BibTeX entries to cite it by
#
# FOLDER/dataset and FOLDER/model are a repository each, as the Hugging Face Hub has them. The same input gives the same bytes. The
# program is $ROOFTILE, else that of this tree, else the one that is installed.
#
# Example: scripts/publish.sh cpu.h5 cpu.p.h5 -o to-upload --license cc-by-4.0 --author "A. Name"
set -euo pipefail
self=$0

fail() {
    echo "publish.sh: $1" >&2
    exit "${2:-2}"
}

files=() license='' license_file='' folder='' card=() titled=()
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help)
        sed -n '2,/^set /p' "$self" | sed -n 's/^# \{0,1\}//p'
        exit 0
        ;;
    -o | --output | --license | --license-file | --author | --title | --notes | --citation)
        [ $# -ge 2 ] || fail "$1 needs a value; \`$self --help\` shows an example"
        case $1 in
        -o | --output) folder=$2 ;;
        --license) license=$2 card+=(--license "$2") ;;
        --license-file) license_file=$(realpath -e -- "$2" 2>/dev/null) || fail "--license-file $2: is not there" 1 ;;
        --title) titled=(--title "$2") ;;
        --author) card+=(--author "$2") ;;
        *) card+=("$1" "$(realpath -e -- "$2" 2>/dev/null)") || fail "$1 $2: is not there" 1 ;;
        esac
        shift
        ;;
    -*) fail "there is no option $1; \`$self --help\` lists them" ;;
    *) files+=("$1") ;;
    esac
    shift
done
[ ${#files[@]} -ge 1 ] || fail "name a dataset: \`$self DATA.h5 [PREDICTOR.h5] -o FOLDER\`; \`rooftile collect -o DATA.h5\` makes one"
[ ${#files[@]} -le 2 ] || fail "${files[2]}: name one dataset and one predictor; \`rooftile dataset merge\` makes one dataset of several"
[ -n "$folder" ] || fail "say where the folder goes: -o FOLDER"
if [ -e "$folder" ] || [ -L "$folder" ]; then
    fail "$folder: is there already and stays as it is; name another folder, or remove it yourself"
fi
for file in "${files[@]}"; do [ -f "$file" ] || fail "$file: is no file" 1; done

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ -z "${ROOFTILE:-}" ]; then
    ROOFTILE=$tree/build/rooftile
    [ -x "$ROOFTILE" ] || ROOFTILE=$(command -v rooftile) || fail "rooftile is not built: run scripts/build.sh first" 1
fi
ROOFTILE=$(realpath -- "$ROOFTILE")

# Made beside its place and renamed when all of it is there.
parent=$(dirname -- "$folder")
[ -d "$parent" ] || fail "$parent: is no folder; make it first" 1
parent=$(cd -- "$parent" && pwd)
for left in "$parent"/.publish-????????; do # of a run that was killed: nobody holds its lock
    [ ! -d "$left" ] || flock -n "$left" rm -rf -- "$left" || true
done
work=$(mktemp -d "$parent/.publish-XXXXXXXX")
exec 8<"$work" && flock -n 8
trap 'rm -rf "$work"' EXIT
mkdir "$work/dataset"
cp -- "${files[0]}" "$work/dataset/data.h5"
if [ ${#files[@]} = 2 ]; then
    mkdir "$work/model"
    cp -- "${files[1]}" "$work/model/predictor.h5"
fi
cd "$work"

# license_page KIND: LICENSE of the dataset or the model, from the file that was named or from its card.
license_page() {
    if [ -n "$license_file" ]; then
        cat -- "$license_file"
        return
    fi
    echo "Licence of this $1: ${license:-as its sources, below}"
    echo
    echo "What it rests on, by source and licence, as the file says it:"
    echo
    sed -n '/^- source: /p; /^- licence: /p; /^## Data$/,/^## /{/^|/p}' "$1/README.md"
}

# sums FOLDER: SHA256SUMS of all that is in it.
sums() {
    (cd "$1" && find . -type f ! -name SHA256SUMS -printf '%P\0' | LC_ALL=C sort -z | xargs -0 sha256sum -- >SHA256SUMS)
}

# report PREDICTOR FOLDER NAME OPTION...: an evaluation on the dataset as a page, JSON and CSV.
report() {
    "$ROOFTILE" evaluate --predictor "$1" dataset/data.h5 --quiet "${@:4}" \
        --report "$2/$3.html" --report "$2/$3.json" --report "$2/$3.csv" >/dev/null
}

# reports PREDICTOR FOLDER: of kernels and of whole models, what the dataset has of them.
reports() {
    [ "$(held samples)" = 0 ] || report "$1" "$2" report
    [ "$(held workloads)" = 0 ] || report "$1" "$2" models --workloads --fallback
}
held() { "$ROOFTILE" dataset info dataset/data.h5 --json | sed -n "s/^  \"$1\": \([0-9]*\).*/\1/p"; }

"$ROOFTILE" dataset validate dataset/data.h5 --max-impossible 1000000000 >/dev/null ||
    fail "the dataset is not fit to publish; see above" 1
"$ROOFTILE" dataset export --format csv dataset/data.h5 -o dataset/csv >/dev/null
judge=roofline
if [ -d model ]; then
    judge=model/predictor.h5
    reports "$judge" model
    "$ROOFTILE" card "$judge" --data dataset/data.h5 ${card[@]+"${card[@]}"} --quiet -o model/README.md
    license_page model >model/LICENSE
    sums model
else
    reports roofline dataset
fi
"$ROOFTILE" card dataset/data.h5 --predictor "$judge" --csv csv ${titled[@]+"${titled[@]}"} ${card[@]+"${card[@]}"} --quiet -o dataset/README.md
license_page dataset >dataset/LICENSE
sums dataset
cd "$OLDPWD"
chmod 755 "$work"
mv -T -- "$work" "$folder"

echo "$folder holds:"
(cd "$folder" && find . -type f -printf '%P\t%s\n' | LC_ALL=C sort | awk -F'\t' '{ printf "  %-28s %9.1f kB\n", $1, $2 / 1000 }')
grep -q '^- licence: \*\*not stated' "$folder/dataset/README.md" && echo "Its data has no licence: nobody may use it. Make it again with --license NAME."
grep -q '^\*\*SYNTHETIC' "$folder/dataset/README.md" && echo "SYNTHETIC: some of it is made up, not measured; its card says so."
echo "Read $folder/dataset/README.md before anyone else does. Next, with names of your own:"
echo "  hf upload OWNER/NAME-data $folder/dataset . --repo-type dataset"
[ ! -d "$folder/model" ] || echo "  hf upload OWNER/NAME $folder/model ."
