# scripts/publish.sh: a folder that is fit to upload.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work"
export ROOFTILE
publish="bash $ROOFTILE_SOURCE/scripts/publish.sh"
complains() { # NAME STATUS WORDS COMMAND...: that exit status, one line that begins with the script's name and holds WORDS
    local name=$1 expected=$2 words=$3 status
    shift 3
    "$@" >stdout 2>stderr </dev/null
    status=$?
    is "$name: status" "$status" "$expected"
    holds "$name" "$words" stderr
}
"$ROOFTILE" collect --backend synthetic -o data.h5 --count 60 --quiet >/dev/null 2>&1
"$ROOFTILE" train data.h5 -o p.h5 --hold-out-gpu large --epochs 2 --no-intervals --quiet >/dev/null 2>&1

succeeds "both" $publish data.h5 p.h5 -o out --license cc-by-4.0 --author "A. Name" --title "Mine: 1"
holds "says what it made" "model/report.html" stdout
holds "says that it is synthetic" "SYNTHETIC" stdout
holds "the next command" "hf upload OWNER/NAME-data out/dataset . --repo-type dataset" stdout
for file in dataset/README.md dataset/LICENSE dataset/data.h5 dataset/csv/samples.csv model/README.md model/LICENSE model/predictor.h5 \
    model/report.html model/report.json model/report.csv; do
    [ -s out/$file ] && ok "has $file" || not_ok "has $file"
done
for repository in dataset model; do
    (cd out/$repository && sha256sum -c --quiet --strict SHA256SUMS) >/dev/null 2>&1 && ok "checksums of $repository" || not_ok "checksums of $repository"
    is "every file of $repository has one" "$(wc -l <out/$repository/SHA256SUMS)" "$(find out/$repository -type f ! -name SHA256SUMS | wc -l)"
done
cmp -s data.h5 out/dataset/data.h5 && ok "the data as they are" || not_ok "the data as they are"
holds "title" 'pretty_name: "Mine: 1"' out/dataset/README.md
holds "licence" "license: cc-by-4.0" out/model/README.md
holds "the viewer's CSV" "path: csv/samples.csv" out/dataset/README.md
holds "a command that runs in the folder" "rooftile evaluate --predictor model/predictor.h5 dataset/data.h5" out/model/README.md
command=$(sed -n 's/^rooftile \(evaluate --predictor model.*\)/\1/p' out/model/README.md)
# shellcheck disable=SC2086
(cd out && succeeds "and does run" "$ROOFTILE" $command --quiet)
is "nothing else lies about" "$(ls -A | grep -c publish)" 0
if [ "$(id -u)" != 0 ] || [ -r out ]; then is "the folder is for all" "$(stat -c %a out)" 755; fi

# What a killed run left goes, what a living one makes stays.
mkdir .publish-deadbeef .publish-liveliv3
echo half >.publish-deadbeef/data.h5
exec 7<.publish-liveliv3
flock 7
succeeds "again, elsewhere" $publish data.h5 p.h5 -o again --license cc-by-4.0 --author "A. Name" --title "Mine: 1"
is "of two unfinished folders one is of a living run" "$(ls -A | grep publish)" .publish-liveliv3
exec 7<&- && rmdir .publish-liveliv3
diff -r out again >differences && ok "the same bytes" || not_ok "the same bytes" "$(head -n 3 differences)"
complains "what is there stays" 2 "out: is there already" $publish data.h5 p.h5 -o out
diff -r out again >/dev/null && ok "as it was" || not_ok "as it was"

succeeds "a dataset alone" $publish data.h5 -o alone
holds "its report is of the roofline" "alone/dataset" stdout
[ -s alone/dataset/report.html ] && [ ! -e alone/model ] && ok "report of the dataset" || not_ok "report of the dataset"
holds "says that the licence is missing" "--license NAME" stdout
echo "My licence" >mine
succeeds "a licence of one's own" $publish data.h5 -o own --license-file mine
cmp -s mine own/dataset/LICENSE && ok "is its LICENSE" || not_ok "is its LICENSE"

complains "nothing" 2 "name a dataset" $publish
complains "no folder" 2 "-o FOLDER" $publish data.h5
complains "no such data" 1 "nothere.h5" $publish nothere.h5 -o x
complains "unknown option" 2 "no option --tilte" $publish data.h5 -o x --tilte a
complains "two datasets" 2 "rooftile dataset merge" $publish data.h5 p.h5 data.h5 -o x
head -c 3000 data.h5 >broken.h5
complains "damaged data" 1 "not fit to publish" $publish broken.h5 -o x
complains "a predictor for a dataset" 1 "not fit to publish" $publish p.h5 -o x
[ ! -e x ] && [ -z "$(find . -name '.publish*')" ] && ok "leaves nothing behind" || not_ok "leaves nothing behind"
finish
