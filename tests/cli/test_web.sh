# `rooftile web`: the program's own answers, 200 clients, requests that must be refused, a browser by keyboard alone.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all web "no python3"
tests=$ROOFTILE_SOURCE/tests/cli
cd "$work" || exit 1
"$ROOFTILE" web --port 0 --timeout 20s -t 2 >address 2>server.err &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null; rm -rf "$work"' EXIT
if ! wait_until $server test -s address; then
    grep -q "without libmicrohttpd\|was not found" server.err && skip_all web "$(cat server.err)"
    not_ok "it starts" "$(cat server.err)"
    finish
fi
address=$(cat address)
python3 "$tests/web_load.py" "$address" --clients 200 --requests 10 --pid $server | tee load
grep -q '^not ok' load && failures=1

cat >ask.py <<'P'
"""Requests of a client, good and bad: prints "ok NAME" or "not ok NAME"."""
import http.client, json, os, subprocess, sys
from urllib.parse import urlencode, urlsplit

where, program, tree = urlsplit(sys.argv[1]).netloc, os.environ["ROOFTILE"], os.environ["ROOFTILE_SOURCE"]


def ask(path, body=None, method=None, **headers):
    connection = http.client.HTTPConnection(where, timeout=300)
    connection.request(method or ("GET" if body is None else "POST"), path, body, headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode(), answer.headers


def report(name, wrong=None):
    print(f"{'not ok' if wrong else 'ok'} {name}", *([f"# {str(wrong)[:300]}"] if wrong else []), sep="\n")


def own(*words):
    return subprocess.run([program, *words], capture_output=True, text=True).stdout


def same(name, path, fields, *words):
    status, text, _ = ask(path, json.dumps(fields))
    wanted = own(*words)
    report(name, None if status == 200 and json.loads(text) == json.loads(wanted) else (status, text[:200], wanted[:200]))


hub = {"model": "https://huggingface.co/openai-community/gpt2-large", "gpu": "H100"}
same("an address on the Hub is a name", "/v1/predict", hub, "predict", "-m", hub["model"], "--gpu", "H100", "--json")
step = {"model": "gpt2", "gpu": ["H100", "L4"], "batch": [1, 8], "fail_if_not_fit": False}
same("forecasts are the program's", "/v1/predict", step, "predict", "-m", "gpt2", "--gpu", "H100,L4", "--batch", "1,8", "--json")
served = {"model": "llama-3.1-8b", "gpu": "H100", "isl": 256, "osl": 16, "concurrency": 4}
same("simulations are", "/v1/serve", served, "simulate", *[f"--{k}={v}" for k, v in served.items()], "--json")
plan = {"model": "llama-3.1-8b", "gpu": "H100", "gpus": 1, "isl": 128, "osl": 16, "users": [1, 8]}
same("plans are", "/v1/plan", plan, "plan", *[f"--{k}={str(v).strip('[]').replace(' ', '')}" for k, v in plan.items()], "--json")
config = open(f"{tree}/models/networks/zoo/gpt2-large.json").read()
status, text, _ = ask("/v1/forecast", json.dumps({"gpu": "H100", "config": config}) + '\n{"gpu": "H100", "model": "gpt2-large"}\n')
lines = [json.loads(line) for line in text.splitlines()]
report("a config.json is a model", None if status == 200 and len(lines) == 2 and lines[0]["time_ms"] == lines[1]["time_ms"] else (status, text))
report("lines are numbered", None if [line["line"] for line in lines][1:] == [2] else lines)
open("jobs.out", "w").write(text)
status, page, headers = ask("/forecast?" + urlencode({"model": "gpt2", "gpu": "H100", "isl": 9, "mode": "inference", "tp": ""}))
subprocess.run([program, "predict", "-m", "gpt2", "--gpu", "H100", "--mode", "inference", "--predictor", "pretrained", "--report", "own.html"],
               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
body = lambda html: html.split("<footer")[0].split("</h1>")[1]
report("the page is the program's", None if status == 200 and body(page) == body(open("own.html").read()) else (status, page[:200]))
report("nothing from elsewhere is allowed", None if "default-src 'none'" in headers["Content-Security-Policy"] else headers)


def form(*fields):
    return ask("/forecast", urlencode(fields), **{"Content-Type": "application/x-www-form-urlencoded"})


status, page, _ = form(("config", config), ("model", "llama-3.1-8b"), ("gpu", "L4"))
report("a form with a config.json", None if status == 200 and "config.json" in page and "llama" not in page else (status, page[-300:]))
longer = config.rstrip()[:-1] + ', "remark": "' + "100% \u00e4&=+" * 2000 + '"}'
status, page, _ = form(("config", longer), ("gpu", "H100"), ("gpu", "L4"))
report("one that comes in pieces, and a field twice", None if status == 200 and "H100" in page and "L4" in page else (status, page[-300:]))
for name, value in (("a NUL in a form", b"gpt2\0"), ("no UTF-8 in a form", b"gpt2\xff")):
    status, page, _ = form(("model", value), ("gpu", "H100"))
    report(f"refused: {name}", None if status == 400 and "is no form" in page else (status, page[-300:]))
status, page, _ = ask("/forecast?model=gpt2&gpu=H100&gpu=L4")
report("a field twice in an address", None if status == 200 and "H100" in page and "L4" in page else (status, page[-300:]))

# --- refused: what names a file, writes, is too large, comes from elsewhere, is broken ---
secret = os.path.abspath("secret.json")
open(secret, "w").write(config.replace("gpt2-large", "TOPSECRET"))
for i, bad in enumerate([{"model": secret}, {"model": "../" * 12 + secret[1:]}, {"model": "gpt2," + secret}, {"gpu": secret}, {"host": "/etc/hostname"},
                         {"cluster": secret}, {"model": "/proc/self/environ"}, {"model": "file://" + secret}, {"model": "https://huggingface.co/" + secret}, {"model": "https://huggingface.co/.." + secret}, {"model": "a/../../" + secret},
                         {"as": secret}, {"model": [secret]}, {"model": {"a": secret}}, {"contexts": "~/x"}, {"model": "gpt2=" + secret}]):
    fields = {"model": "gpt2", "gpu": "H100", **bad}
    for path in ("/v1/forecast", "/v1/predict"):
        status, text, _ = ask(path, json.dumps(fields))
        report(f"no file: {path} {list(bad)[0]} {i}", None if status == 400 and '"error"' in text and "TOPSECRET" not in text else (status, text))
for field in ("report", "trace", "jobs", "json", "overwrite", "threads", "nosuch", "trace_out", ""):
    status, text, _ = ask("/v1/predict", json.dumps({"model": "gpt2", "gpu": "H100", field: "x.html"}))
    report(f"no such field: {field}", None if status == 400 and "no field of predict" in text else (status, text))
for name, wanted, answer in [
        ("a body that is too large", 413, ask("/v1/forecast", " " * (300 << 10))),
        ("another address", 404, ask("/etc/passwd")), ("above the root", 404, ask("/../../etc/passwd")),
        ("another method", 405, ask("/v1/predict", method="DELETE")), ("jobs by GET", 405, ask("/v1/forecast")),
        ("no JSON", 400, ask("/v1/predict", "{")), ("a list", 400, ask("/v1/predict", "[1]")), ("no body", 400, ask("/v1/forecast", "")),
        ("a model that is not", 400, ask("/v1/predict", '{"model": "nosuch", "gpu": "H100"}')),
        ("a page of elsewhere", 403, ask("/", Host="evil.example")), ("a NUL", 413, ask("/v1/predict", '{"a": "\0"}')),
        ("deep JSON", 400, ask("/v1/predict", '{"a": ' + "[" * 2000 + "]" * 2000 + "}")), ("deeper JSON", 400, ask("/v1/forecast", "[" * 100000)),
        ("deep config", 400, ask("/v1/predict", json.dumps({"gpu": "H100"})[:-1] + ', "config": ' + '{"a":' * 1500 + "1" + "}" * 1500 + "}")),
        ("too long a name", 400, ask("/v1/predict", json.dumps({"model": "x" * 5000, "gpu": "H100"})))]:
    report(f"refused: {name}", None if answer[0] == wanted and json.loads(answer[1])["error"]["message"] else answer[:2])
status, page, _ = ask("/forecast?model=%3Cscript%3Ex&gpu=H100")
report("a page of a sentence", None if status == 400 and "unknown model" in page and "<script>x" not in page else (status, page[-400:]))
P
python3 ask.py "$address" | tee asked
[ "${PIPESTATUS[0]}" = 0 ] && ! grep -q '^not ok' asked || failures=1
grep -c '^ok' asked | sed 's/^/# asked: /'
python3 "$tests/schema_check.py" "$ROOFTILE_SOURCE/docs/schema/job.json" --lines <jobs.out >wrong
is "lines are what the schema says" "$(cat wrong)" ""
for browser in chromium chromium-browser google-chrome; do
    command -v $browser >/dev/null || continue
    python3 "$tests/browser.py" $browser "$address" >browsed 2>&1 || { failures=1; tail -n 5 browsed; }
    cat browsed
    break
done
kill $server
wait $server
is "it ends when it is told to" $? 0
is "no process is left" "$(grep -l "^PPid:.$server\$" /proc/[0-9]*/status 2>/dev/null)" ""

# --- out of time ---
"$ROOFTILE" web --port 0 --timeout 1s -t 1 >slow 2>&1 &
server=$!
wait_until $server test -s slow
python3 - "$(cat slow)" <<'P'
import http.client, json, sys
from urllib.parse import urlsplit
connection = http.client.HTTPConnection(urlsplit(sys.argv[1]).netloc, timeout=300)
connection.request("POST", "/v1/serve", json.dumps({"model": "llama-3.1-70b", "gpu": "H100", "tp": 8, "isl": 2000, "osl": 4000, "concurrency": 256, "requests": 50000000}))
answer = connection.getresponse()
text = answer.read().decode()
right = answer.status == 504 and "longer than" in text
print("ok out of time" if right else f"not ok out of time\n# {answer.status} {text[:300]}")
sys.exit(not right)
P
[ $? = 0 ] || failures=1
kill -INT $server
wait $server
is "Ctrl-C is exit status 130" $? 130

refuses "no address" 2 "address of this machine" "$ROOFTILE" web --listen example.com
finish
