# Cards of datasets and predictors: what is in them, and the YAML that the Hub reads, hostile names included.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work"
out=$work/stdout
python3 -c "import yaml" 2>/dev/null && has_yaml=1 || has_yaml=0

# front EXPRESSION [FILE]: what Python makes of the card's front matter, named d. Without PyYAML the checks are left out: tests/base/test_yaml.c
# has the quoting.
front() {
    python3 -c "
import sys, yaml
d = yaml.safe_load(open('${2:-$out}', encoding='utf-8').read().split('---\n')[1])
print($1)"
}
front_is() {
    if [ $has_yaml = 1 ]; then is "$1" "$(front "$2" 2>&1)" "$3"; else echo "skipped $1: no python3 with PyYAML"; fi
}

"$ROOFTILE" collect --backend synthetic -o data.h5 --count 60 --quiet >/dev/null 2>&1
"$ROOFTILE" train data.h5 -o p.h5 --hold-out-gpu large --epochs 2 --no-intervals --quiet >/dev/null 2>&1

# A dataset.
succeeds "card of a dataset" "$ROOFTILE" card data.h5 --license CC-BY-4.0 --author "A. Name" --csv csv
front_is "licence" "d['license']" cc-by-4.0
front_is "size" "d['size_categories']" "['n<1K']"
front_is "task" "d['task_categories']" "['tabular-regression']"
front_is "synthetic is a tag" "d['tags'][-1]" synthetic
front_is "configs for the viewer" "[(c['config_name'], c['data_files'][0]['path']) for c in d['configs']]" \
    "[('samples', 'csv/samples.csv'), ('devices', 'csv/devices.csv')]"
holds "says loudly that it is synthetic" "**SYNTHETIC: 120 of the 120 rows are made up" "$out"
holds "uuid" "uuid of the content: $("$ROOFTILE" dataset info data.h5 --json | sed -n 's/.*"uuid": "\([^"]*\)".*/\1/p')" "$out"
holds "format" "rooftile-dataset, version 4" "$out"
holds "ranges of dims" "| linear " "$out"
holds "units" "| latency_us        | samples | us   |" "$out"
holds "attributes" "| latency_statistic" "$out"
holds "how to cite" "@software{rooftile," "$out"
succeeds "card without a licence" "$ROOFTILE" card data.h5
holds "says that it is missing" "licence: **not stated" "$out"
front_is "no licence is made up" "'license' in d" False
succeeds "card as JSON" "$ROOFTILE" card data.h5 --json
json_is "JSON has the tables" "len(d['devices']), d['faults'][0]['fault'], d['metadata']['tags'][-1]" "(2, 'synthetic', 'synthetic')"

# Faults: kernels that fail, unstable and throttled ones.
"$ROOFTILE" collect --backend synthetic --faults throttle=0.2,oom=0.1,noise=0.2 -o faults.h5 --count 40 --quiet >/dev/null 2>&1 ||
    not_ok "faults are made" "$("$ROOFTILE" collect --help | grep -A3 faults)"
succeeds "card of a dataset with faults" "$ROOFTILE" card faults.h5
holds "failed ones" "| failed " "$out"
holds "throttled ones" "| throttled " "$out"
holds "why they failed" "## Failures" "$out"

# A predictor, with what it held out.
succeeds "card of a predictor" "$ROOFTILE" card p.h5 --data data.h5 --license mit --hub-dataset me/data --quiet
front_is "library" "[d['library_name'], d['license'], d['datasets'], d['metrics']]" "['rooftile', 'mit', ['me/data'], ['mape']]"
front_is "results" "sorted({r['dataset']['split'] for r in d['model-index'][0]['results']})" "['all', 'held out']"
front_is "numbers are numbers" "all(isinstance(m['value'], float) for r in d['model-index'][0]['results'] for m in r['metrics'])" True
holds "what was held out" "GPUs held out: synthetic large" "$out"
holds "the recipe" "--seed 1 --validation 0.1 --split 0.2 --threads" "$out"
holds "the hold-out in it" "--hold-out-gpu 'synthetic large'" "$out"
holds "the command of the table" "rooftile evaluate --predictor p.h5 data.h5" "$out"
cp "$out" card.md
command=$(sed -n 's/^rooftile evaluate --predictor p.h5 data.h5$/evaluate --predictor p.h5 data.h5/p' card.md)
# shellcheck disable=SC2086
"$ROOFTILE" $command --quiet --json >evaluation.json
is "its errors are those of that command" \
    "$(python3 -c "
import json, re
row = next(r for r in json.load(open('evaluation.json'))['rows'] if r['op'] == 'linear' and r['predictor'] == 'rooftile' and r['held_out'])
line = next(l for l in open('card.md') if l.startswith('| linear') and 'synthetic large' in l)
print(abs(float(line.split('|')[5]) - row['mape']) < 0.051)")" True
succeeds "of a dataset with a predictor" "$ROOFTILE" card data.h5 -p p.h5 --quiet
holds "the table there, too" "## Kernels, pooled over devices" "$out"
succeeds "with the roofline" "$ROOFTILE" card data.h5 -p roofline --quiet

# Names that would break YAML, Markdown or a terminal.
"$ROOFTILE" dataset export data.h5 -o csv >/dev/null
printf '%s' 'yes: "#1" | <b>&x</b> [1] é \ %' >name
python3 - <<'P'
import csv
name = open("name", encoding="utf-8").read()
def rows(path):
    return list(csv.reader(open(path, newline="", encoding="utf-8")))
def write(path, table):
    csv.writer(open(path, "w", newline="", encoding="utf-8"), lineterminator="\n").writerows(table)
for path in ("csv/devices.csv", "csv/samples.csv"):
    write(path, [[name if cell == "synthetic small" else cell for cell in row] for row in rows(path)])
write("csv/meta.csv", [["source", name] if row[0] == "source" else row for row in rows("csv/meta.csv")])
P
succeeds "a dataset with a hostile name" "$ROOFTILE" dataset import --format csv csv -o hostile.h5 --quiet
succeeds "its card" "$ROOFTILE" card hostile.h5 --license "$(cat name)"
cp "$out" hostile.md
front_is "its name is a text" "open('name', encoding='utf-8').read() in d['pretty_name']" True
front_is "a licence that nobody knows" "[d['license'], d['license_name']]" "['other', 'yes-1-b-x-b-1']"
sed '1,/^# /d' hostile.md >body.md
lacks "no tag of HTML" ' <b>' body.md
is "no cell more in any row" "$(grep '^| .*x</b>' hostile.md | sed 's/\\|//g' | awk -F'|' 'NR == 1 {n = NF} NF != n {bad = 1} END {print bad + 0}')" 0
# What people see of it is the text itself, by two readers of Markdown.
cat >rendered.py <<'EOF'
import html.parser, subprocess, sys
page = open("hostile.md", encoding="utf-8").read().split("---\n", 2)[2]
if sys.argv[1] == "cmark":
    page = subprocess.run(["cmark", "--unsafe"], input=page, capture_output=True, text=True, check=True).stdout
else:
    import markdown
    page = markdown.markdown(page, extensions=["tables"])
class Reader(html.parser.HTMLParser):
    tags, words = set(), ""
    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
    def handle_data(self, data):
        self.words += data
reader = Reader()
reader.feed(page)
name = open("seen", encoding="utf-8").read()
print(not reader.tags & {"script", "b", "a", "img"} and name in reader.words)
EOF
printf '<script>x</script> &lt; [a](http://b) `c` ![d](e)' >seen
"$ROOFTILE" card data.h5 --title "$(cat seen)" >hostile.md
for reader in cmark markdown; do
    seen=$(/usr/bin/python3 rendered.py $reader 2>/dev/null) || { echo "skipped a name as it is, by $reader: not installed"; continue; }
    is "a name as it is, by $reader" "$seen" True
done
for title in "no" "2026-11-23" "1e3" "- a" "a: b # c" "'" '"' "{x}" "é ☃"; do
    succeeds "title $title" "$ROOFTILE" card data.h5 --title "$title"
    front_is "is the text $title" "d['pretty_name']" "$title"
done
printf 'a\nb: c\t\001\302\205\342\200\250' >lines
succeeds "a title of several lines" "$ROOFTILE" card data.h5 --title "$(cat lines)"
front_is "stays one text" "d['pretty_name'] == open('lines', encoding='utf-8', newline='').read()" True
refuses "a title that is not UTF-8" 2 "UTF-8" "$ROOFTILE" card data.h5 --title "$(printf 'a\377')"

# Files: nothing is overwritten unasked, notes and BibTeX are taken over.
echo "## Mine
| a |" >notes.md
echo "@misc{mine}" >mine.bib
succeeds "with notes" "$ROOFTILE" card data.h5 --notes notes.md --citation mine.bib -o README.md
is "notes end it" "$(tail -n 2 README.md)" "$(cat notes.md)"
holds "BibTeX of one's own" "@misc{mine}" README.md
cp README.md before.md
refuses "what is there stays" 2 "--overwrite" "$ROOFTILE" card data.h5 -o README.md
succeeds "unless asked" "$ROOFTILE" card data.h5 --notes notes.md --citation mine.bib -o README.md --overwrite
cmp -s README.md before.md && ok "same bytes again" || not_ok "same bytes again"
refuses "not onto an input" 2 "notes.md" "$ROOFTILE" card data.h5 --notes notes.md -o notes.md --overwrite
refuses "--data is for predictors" 2 "--predictor" "$ROOFTILE" card data.h5 --data data.h5
refuses "--predictor is for datasets" 2 "--data" "$ROOFTILE" card p.h5 --predictor p.h5
refuses "what is neither" 1 "notes.md" "$ROOFTILE" card notes.md
refuses "nothing" 2 "rooftile card" "$ROOFTILE" card

# The predictor that comes along: its page is its card and its notes.
folder=$ROOFTILE_SOURCE/models/predictors/pretrained
succeeds "card of the predictor that comes along" "$ROOFTILE" card pretrained --title "The predictor that comes along" --notes "$folder/notes.md"
front_is "its licences, one of which is none" "d['license']" "other"
cmp -s "$out" "$folder/README.md" && ok "is its README.md" ||
    not_ok "is its README.md" "scripts/pretrain.sh ends with the command that makes it" "$(diff "$out" "$folder/README.md" | head -n 5)"
finish
