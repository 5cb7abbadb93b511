// The form without a server: what `rooftile web` does for a request happens here, in the page (scripts/wasm.sh).
"use strict";
const fields = {
  forecast: ["predict", "model gpu mode batch seq context dtype tp"],
  serve: ["simulate", "model gpu isl osl concurrency dtype tp"],
  plan: ["plan", "model gpu gpus isl osl ttft tpot"],
};

// The module, with what it prints in `said`.
const said = { out: [], error: [] };
const openRooftile = (rooftile, more) =>
  rooftile({ print: (line) => said.out.push(line), printErr: (line) => said.error.push(line), ...more });

// {status, out, error, page} of the program's words; a config.json is a file of the module.
function runRooftile(module, words, config, page) {
  said.out = [];
  said.error = [];
  if (config) module.FS.writeFile("/config.json", config);
  const all = page ? [...words, "--report=/page.html", "--overwrite"] : words;
  const status = module.ccall("rooftile_run", "number", ["string"], [all.join("\n")]);
  const made = page && status === 0;
  return { status, out: said.out.join("\n"), error: said.error.join("\n"), page: made ? module.FS.readFile("/page.html", { encoding: "utf8" }) : "" };
}

function show(result, seconds) {
  const place = document.getElementById("result");
  place.textContent = "";
  if (result.status !== 0) {
    place.insertAdjacentHTML("beforeend", "<p role=alert></p>");
    place.lastChild.textContent = result.error.split("\n").pop().replace(/^rooftile: /, "");
    return;
  }
  const frame = document.createElement("iframe");
  frame.title = "Result";
  frame.srcdoc = result.page;
  place.append(frame, `Made in this page in ${(1000 * seconds).toFixed(1)} ms.`);
  frame.scrollIntoView();
}

function names(module, words, list, of) {
  const answer = JSON.parse(runRooftile(module, [...words, "--json"]).out);
  document.getElementById(list).append(...of(answer).map((name) => Object.assign(document.createElement("option"), { value: name })));
}

async function begin() {
  const form = document.querySelector("form"), module = await openRooftile(rooftile);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const [command, taken] = fields[event.submitter.getAttribute("formaction")];
    const data = new FormData(form), config = (data.get("config") || "").trim(), words = [command, "--json"];
    for (const name of taken.split(" "))
      if (data.get(name) && !(config && name === "model")) words.push(`--${name}=${data.get(name)}`);
    if (config) words.push("--model=/config.json");
    const start = performance.now(), result = runRooftile(module, words, config, true);
    show(result, (performance.now() - start) / 1000);
  });
  names(module, ["devices"], "gpus", (answer) => answer.devices.map((device) => device.name));
  names(module, ["graph", "--list"], "models", (answer) => answer.models.map((model) => model.name));
  window.rooftileReady = true;
}

if (typeof window === "undefined") module.exports = { openRooftile, runRooftile };
else {
  window.rooftileReady = false;
  begin();
}
