"""Many clients of `rooftile web` at once: each asks again and again on a connection of its own; every answer is that of the first that asked.

    web_load.py http://127.0.0.1:PORT/ [--clients 200] [--requests 20] [--pid SERVER]

Prints "ok NAME" or "not ok NAME"; also forecasts a second, and with --pid those a second of a processor that the server and its workers took."""
import argparse
import http.client
import json
import os
import sys
import threading
import time
from urllib.parse import urlsplit

parser = argparse.ArgumentParser()
parser.add_argument("address")
parser.add_argument("--clients", type=int, default=200)
parser.add_argument("--requests", type=int, default=20)
parser.add_argument("--pid", type=int)
arguments = parser.parse_args()
where = urlsplit(arguments.address).netloc
JOBS = [{"model": model, "gpu": gpu, "batch": batch, "mode": "decode", "context": 1024}
        for model in ("llama-3.1-8b", "gpt2-large", "qwen2.5-7b", "mistral-7b") for gpu in ("H100", "B200", "L4", "A100-40") for batch in (1, 8, 32)]


def ask(connection, job):
    connection.request("POST", "/v1/forecast", json.dumps(job), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status, answer.read()


def processor_seconds(pid):
    """Of the process and those that it started and that still run."""
    total = 0
    for name in os.listdir("/proc"):
        try:
            fields = open(f"/proc/{name}/stat").read().rsplit(")", 1)[1].split() if name.isdigit() else None
        except OSError:
            continue
        if fields and pid in (int(name), int(fields[1])):
            total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


first = http.client.HTTPConnection(where)
wanted = [ask(first, job) for job in JOBS]
failures, lock = [], threading.Lock()


def client(number):
    try:
        connection = http.client.HTTPConnection(where, timeout=300)
        for i in range(arguments.requests):
            at = (number + i) % len(JOBS)
            if (got := ask(connection, JOBS[at])) != wanted[at]:
                raise ValueError(f"{JOBS[at]}: {got[0]} {got[1][:200]}")
        connection.close()
    except (OSError, ValueError, http.client.HTTPException) as error:
        with lock:
            failures.append(f"client {number}: {error!r}")


before, start = processor_seconds(arguments.pid) if arguments.pid else 0, time.monotonic()
threads = [threading.Thread(target=client, args=(n,)) for n in range(arguments.clients)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
seconds, count = time.monotonic() - start, arguments.clients * arguments.requests
right = all(status == 200 and b'"time_ms"' in text for status, text in wanted)
print("ok forecasts" if right else f"not ok forecasts\n# {[w for w in wanted if w[0] != 200][:1]}")
print(f"ok {arguments.clients} clients" if not failures else f"not ok {arguments.clients} clients\n# {failures[:3]}")
print(f"# {count} forecasts, {count / seconds:.0f} a second" +
      (f", {count / (processor_seconds(arguments.pid) - before):.0f} a second of a processor" if arguments.pid else ""))
sys.exit(not right or bool(failures))
