# scripts/wasm.sh: the page by WebAssembly forecasts what the program does, in node and in a browser by keyboard alone. Built by this test
# where emscripten and the libraries' sources are there ($ROOFTILE_SOURCES); $ROOFTILE_WASM is a folder that was made before.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
command -v node >/dev/null || skip_all wasm "no node"
command -v python3 >/dev/null || skip_all wasm "no python3"
made=${ROOFTILE_WASM:-$work/wasm}
if [ -z "${ROOFTILE_WASM:-}" ]; then
    command -v emcc >/dev/null || skip_all wasm "no emscripten"
    [ -n "${ROOFTILE_SOURCES:-}" ] || skip_all wasm "ROOFTILE_SOURCES names no sources of jansson, libcsv and zlib"
    succeeds "it builds" env ROOFTILE_BUILD="$work/build" "$ROOFTILE_SOURCE/scripts/wasm.sh" "$made"
fi
size=$(cat "$made"/* | wc -c)
if [ "$size" -lt 3000000 ]; then ok "under 3 MB"; else not_ok "under 3 MB" "$size bytes"; fi

cat >ask.js <<'J'
const [folder, count] = process.argv.slice(2), { openRooftile, runRooftile } = require(folder + "/page.js");
openRooftile(require(folder + "/rooftile.js"), { wasmBinary: require("fs").readFileSync(folder + "/rooftile.wasm") }).then((module) => {
  const words = ["predict", "--json", "-m", "gpt2-large", "--gpu", "H100,B200", "--mode", "decode", "--batch", "8"];
  const several = runRooftile(module, words, "", true), wrong = runRooftile(module, ["predict", "-m", "nosuch", "--gpu", "H100"], "", false);
  const config = require("fs").readFileSync(process.env.ROOFTILE_SOURCE + "/models/networks/zoo/gpt2-large.json", "utf8");
  const own = runRooftile(module, ["predict", "--json", "-m", "/config.json", "--gpu", "L4"], config, false);
  const plan = runRooftile(module, ["plan", "--json", "-m", "llama-3.1-8b", "--gpu", "H100", "--gpus", "1", "--isl", "128", "--osl", "16", "--users", "1,8"], "", true);
  const start = process.cpuUsage();
  for (let i = 0; i < count; i++) runRooftile(module, ["predict", "--json", "-m", "llama-3.1-8b", "--gpu", "H100", "--mode", "decode", "--batch", String(i + 1)], "", false);
  const took = process.cpuUsage(start);
  console.log(JSON.stringify({ ms: JSON.parse(several.out).forecasts.map((f) => f.total_ms), page: several.page.includes("B200") && several.page.includes("<svg class=\"plot\""), wrong: [wrong.status, wrong.error],
    own: JSON.parse(own.out).forecasts[0].total_ms, plan: JSON.parse(plan.out).best.length, planned: plan.page.includes("llama-3.1-8b"), cpu_ms: (took.user + took.system) / 1e3 / count }));
});
J
succeeds "it answers in node" node ask.js "$made" 50
cp stdout answer.json
"$ROOFTILE" predict --json -m gpt2-large --gpu H100,B200 --mode decode --batch 8 >several.json 2>/dev/null
"$ROOFTILE" predict --json -m gpt2-large --gpu L4 >own.json 2>/dev/null
json_is "forecasts are the program's" "max(abs(a / b['total_ms'] - 1) for a, b in zip(d['ms'] + [d['own']], json.load(open('several.json'))['forecasts'] + json.load(open('own.json'))['forecasts'])) < 1e-5" True
json_is "pages" "(d['page'], d['planned'], d['plan'] >= 1)" "(True, True, True)"
json_is "a sentence" "d['wrong'][0] != 0 and 'unknown model' in d['wrong'][1]" True
echo "# $size bytes, $(json "'%.1f ms of a processor a forecast' % d['cpu_ms']")"

for browser in chromium chromium-browser google-chrome; do
    command -v $browser >/dev/null || continue
    python3 - "$made" <<'P' >port &
import functools, http.server, sys
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1]))
print(server.server_address[1], flush=True)
sys.stderr = open("/dev/null", "w")
server.serve_forever()
P
    files=$!
    wait_until $files test -s port
    python3 "$ROOFTILE_SOURCE/tests/cli/browser.py" $browser "http://127.0.0.1:$(cat port)/" || failures=1
    kill $files
    break
done
finish
