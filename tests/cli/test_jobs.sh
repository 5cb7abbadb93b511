# `rooftile predict --jobs`: lines of JSON in and out. JSON of every command as docs/schema/ has it, errors included.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all jobs "no python3"
cat >jobs.jsonl <<'END'
{"id": "a", "model": "gpt2", "gpu": "H100", "batch": 4, "seq": 256}
{"id": 2, "model": "gpt2", "bach": 1}
not JSON

{"model": "nope", "gpu": "H100"}
[1]
{"model": "llama-3-8b", "gpu": "A100-80", "contexts": [100, 200], "dtype": "bf16"}
END
"$ROOFTILE" predict -p roofline --jobs jobs.jsonl >lines 2>stderr
is "the exit status says that some are wrong" $? 1
holds "and how many" "4 of 7 lines have no forecast" stderr
"$ROOFTILE" predict -p roofline --gpu H100 -m gpt2 --batch 4 --seq 256 --json >one.json 2>stderr
cat >check.py <<'END'
import json
lines = [json.loads(line) for line in open("lines")]
assert [line["line"] for line in lines] == [1, 2, 3, 5, 6, 7], lines
first, field, text, model, array, last = lines
whole = json.load(open("one.json"))
one, = whole["forecasts"]
assert first["id"] == "a" and field["id"] == 2 and all(line["schema"] == 1 for line in (*lines, whole))
assert first["time_ms"] == one["total_ms"] and first["memory_gib"] == one["memory"]["used_gib"], (first, one["memory"])
assert last["time_ms"] > 0 and "error" not in last
assert field["error"]["exit"] == 2 and "nearest names: batch" in field["error"]["message"], field
assert "not JSON" in text["error"]["message"] and "nope" in model["error"]["message"] and "no object" in array["error"]["message"]
END
succeeds "each as it is alone, wrong ones with the reason" python3 check.py
succeeds "defaults of the command line" bash -c "echo '{\"batch\": 2}' | \"$ROOFTILE\" predict -p roofline --gpu L4 -m gpt2 --jobs -"
refuses "a sweep beside" 2 "lines say others" "$ROOFTILE" predict --jobs jobs.jsonl --batch 1,2
refuses "no such file" 1 "cannot be read" "$ROOFTILE" predict --jobs absent.jsonl
"$ROOFTILE" predict --gpu H100 --json >error.json 2>stderr
is "bad usage" $? 2
succeeds "is JSON under --json" python3 -c 'import json; e = json.load(open("error.json")); assert e["schema"] == 1 and e["error"]["exit"] == 2 and "--model" in e["error"]["message"], e'
finish
