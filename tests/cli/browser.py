"""The form of `rooftile web`, or of the page by WebAssembly, in Chromium, at the width of a phone and by the keyboard alone.

    browser.py CHROMIUM ADDRESS [PICTURE.png]

Prints "ok NAME" or "not ok NAME". Chromium is told by its pipe: messages of JSON with a NUL behind each."""
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

failures = 0


def rule(name, wrong):
    global failures
    failures += bool(wrong)
    print(f"{'not ok' if wrong else 'ok'} {name}", *([f"# {wrong}"] if wrong else []), sep="\n")


class Browser:
    def __init__(self, program):
        self.home = tempfile.mkdtemp()
        ours_read, theirs_write = os.pipe()
        theirs_read, ours_write = os.pipe()

        high = [os.dup(theirs_read), os.dup(theirs_write)]
        while min(high) < 10:
            high = [os.dup(fd) for fd in high]
        shell = f'exec "$@" 3<&{high[0]} 4>&{high[1]}'
        self.process = subprocess.Popen(
            ["bash", "-c", shell, "bash", program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
             f"--user-data-dir={self.home}", "about:blank"], pass_fds=high, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for fd in (theirs_read, theirs_write, *high):
            os.close(fd)
        self.read, self.write, self.count, self.rest, self.session, self.events = ours_read, ours_write, 0, b"", None, []
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        self.call("Page.enable"), self.call("Runtime.enable")

    def message(self):
        while b"\0" not in self.rest:
            part = os.read(self.read, 1 << 16)
            if not part:
                raise SystemExit("not ok the browser ended")
            self.rest += part
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        self.count += 1
        message = {"id": self.count, "method": method, "params": params, **({"sessionId": self.session} if self.session else {})}
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while (answer := self.message()).get("id") != self.count:
            self.events.append(answer)
        if "error" in answer:
            raise SystemExit(f"not ok {method}\n# {answer['error']}")
        return answer["result"]

    def value(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        return answer["result"].get("value", answer.get("exceptionDetails", {}).get("text"))

    def until(self, expression, what):
        """Until it is true; ctest alone limits the time."""
        for _ in range(6000):
            if self.value(expression) is True:
                return True
            time.sleep(0.02)
        rule(what, self.value("document.body.innerText.slice(0, 300)"))
        return False

    def key(self, name, code, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code, **({"text": text} if text and kind == "keyDown" else {}))

    def tab_to(self, condition):
        """By Tab alone to the element that `e` of the condition is."""
        for _ in range(60):
            self.key("Tab", 9)
            if self.value(f"(e => {condition})(document.activeElement)"):
                return True
        return False

    def end(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)


def type_into(browser, name, text):
    found = browser.tab_to(f"e.name === '{name}'")
    rule(f"Tab comes to {name}", None if found else "never")
    browser.value("document.activeElement.select && document.activeElement.select()")
    browser.call("Input.insertText", text=text)


def main():
    browser = Browser(sys.argv[1])
    browser.call("Emulation.setDeviceMetricsOverride", width=360, height=740, deviceScaleFactor=2, mobile=True)
    browser.call("Page.navigate", url=sys.argv[2])
    browser.until("document.readyState === 'complete' && !!document.querySelector('form')", "the form comes")
    browser.until("!window.rooftileReady || window.rooftileReady === true", "the module comes")
    rule("no wider than a phone", None if browser.value("document.documentElement.scrollWidth") <= 360 else browser.value("document.documentElement.scrollWidth"))
    rule("every field has a label", browser.value("[...document.querySelectorAll('input,select,textarea')].filter(e => !e.labels.length).map(e => e.name).join()"))
    rule("buttons are as large as a finger", browser.value("[...document.querySelectorAll('button')].filter(e => e.getBoundingClientRect().height < 36).map(e => e.textContent).join()"))
    if len(sys.argv) > 3:
        open(sys.argv[3], "wb").write(base64.b64decode(browser.call("Page.captureScreenshot")["data"]))
    type_into(browser, "model", "gpt2-large")
    type_into(browser, "gpu", "H100, L4")
    type_into(browser, "batch", "1,4")
    rule("what has the focus shows it", None if browser.value("getComputedStyle(document.activeElement).outlineStyle") != "none" else "no outline")
    rule("Tab comes to the button", None if browser.tab_to("e.tagName === 'BUTTON' && e.textContent.includes('Forecast')") else "never")
    browser.key("Enter", 13, "\r")
    result = "(document.querySelector('#result iframe')?.contentDocument || (document.querySelector('form') ? null : document))"
    if browser.until(f"!!{result}?.querySelector('table') && {result}.readyState === 'complete'", "the forecast comes"):
        rule("a row for each", None if browser.value(f"[...{result}.querySelectorAll('tbody tr')].filter(r => /H100|L4/.test(r.textContent)).length") >= 4 else browser.value(f"{result}.body.innerText.slice(0, 400)"))
        rule("no wider than a phone, either", None if browser.value(f"{result}.documentElement.scrollWidth") <= 360 else browser.value(f"{result}.documentElement.scrollWidth"))
    wrong = [e["params"] for e in browser.events if e.get("method") == "Runtime.exceptionThrown"]
    rule("no error of a script", json.dumps(wrong)[:300] if wrong else None)
    browser.end()
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
