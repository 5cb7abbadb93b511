# Every help text: an example that is right, options with units, dtypes by name.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work"
command -v python3 >/dev/null || skip_all "help texts" "no python3"
cat >check.py <<'P'
import os, re, shlex, subprocess, sys

program = os.environ["ROOFTILE"]
UNIT = re.compile(
    r"\b(us|ms|s|seconds?|minutes?|[0-9]+(s|m|h|ms)|W|watts?|MHz|GB/s|GiB|MiB|kWh|percent|share|ratio|level|pixels|tokens|sequences|images|"
    r"kernels|samples|shapes|rows|epochs?|passes|parts?|GPUs|layers?|stages|nodes|threads|steps?|runs|seed|folds|points|requests|"
    r"replicas|profiles|bytes|machines|TCP port)\b", re.I)
NUMBERS = {"N", "X", "R", "S", "W", "I/N", "MHZ", "MS", "LEVEL", "SHARE", "FRACTION", "PERCENT", "PER_KWH", "G_PER_KWH", "TIME", "SECONDS",
           "N[,N...]", "X[,X...]"}


def run(words, **more):
    return subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, **more)


def report(name, wrong):
    print(f"{'not ok' if wrong else 'ok'} {name}", *(f"# {line}" for line in wrong), sep="\n")


def commands(words=()):
    text = run([program, *words, "--help"]).stdout
    names = re.findall(r"^  ([a-z]+) +\S", text.split("Commands:\n")[1].split("\n\n")[0], re.M) if "\nCommands:\n" in text else []
    if not names:
        yield words, text
    for name in names:
        yield from commands((*words, name))


def options(text):
    """(name, argument, help) of each."""
    found = []
    for line in text.split("\n"):
        option = re.match(r"^  (?:-., |    )--([a-z0-9-]+)(?:\[?=(\S+))?\s*(.*)$", line)
        if option:
            found.append([option[1], (option[2] or "").rstrip("]") if "[" not in (option[2] or "") else option[2], option[3]])
        elif found and line.startswith(" " * 20):
            found[-1][2] += " " + line.strip()
    return found


def examples(text):
    joined = re.sub(r" \\\n +", " ", text)
    return re.findall(r"^  (rooftile .*)$", joined, re.M)


def try_server(words):
    """It says where it is, and ends when it is told to; or it was built without its library."""
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    address = server.stdout.readline()
    server.terminate()
    said = server.communicate()[1]
    return None if address.startswith("http://") and server.returncode == 0 or "libmicrohttpd" in said else f"{words}: {address} {said}"


def try_example(line):
    """What is wrong with it: it runs, or fails because a file that it names is not here."""
    words = shlex.split(re.split(r"\s+[|>] | +# ", line)[0])
    if words[1] == "collect":
        words.append("--dry-run")
    if words[1] == "web":
        return try_server([program, *words[1:], "--port", "0"])
    done = run([program, *words[1:]])
    missing = done.returncode == 1 and re.search(r"cannot be read: No such file|cannot be opened: No such file", done.stderr)
    return None if done.returncode == 0 or missing else f"{line}: exit {done.returncode}: {done.stderr.strip()[-300:]}"


seen = list(commands())
report(f"{len(seen)} commands are tried", [] if len(seen) >= 17 else ["fewer than there were"])
number_options = 0
for words, text in seen:
    name = " ".join(words)
    report(f"{name}: says Example", [] if re.search(r"^Examples?:", text, re.M) and examples(text) else ["no example"])
    report(f"{name}: examples run or lack a file", [w for w in map(try_example, examples(text)) if w])
    numbers = [o for o in options(text) if o[1] in NUMBERS]
    number_options += len(numbers)
    report(f"{name}: numbers have units", [f"--{o[0]}={o[1]}: {o[2]}" for o in numbers if not UNIT.search(o[2])])
    report(f"{name}: dtypes by name", [f"--{o[0]}: {o[2]}" for o in options(text) if o[0] in ("dtype", "dtypes", "quant", "kv-cache")
                                       and not re.search(r"\b(fp32|fp8|bf16)\b", o[2])])
    narrow = run([program, *words, "--help"], env={**os.environ, "COLUMNS": "60"}).stdout
    report(f"{name}: examples stay whole where lines are short", [] if examples(narrow) == examples(text) else ["they differ"])
report("options with numbers are found", [] if number_options > 80 else [f"only {number_options}"])
P
python3 check.py >checked
cat checked
grep -q '^not ok' checked && failures=1
finish
