"""A page that rooftile wrote, as any reader of HTML sees it: prints "ok NAME" or "not ok NAME" a rule.

    page.py PAGE.html             well-formed, labelled, self-contained
    page.py --checked DOM         what checks.js wrote into pages that a browser ran
"""
import html.parser
import json
import re
import sys

VOID = {"meta", "br", "img", "input", "link", "hr", "col"}
failures = 0


def rule(name, wrong):
    global failures
    failures += bool(wrong)
    print(f"{'not ok' if wrong else 'ok'} {name}")
    for sentence in list(wrong)[:10]:
        print(f"# {sentence}")


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.ids, self.references = [], [], [], []
        self.links, self.tables, self.images, self.headings, self.texts = [], [], [], [], {}
        self.scripts = 0

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        self.scripts += tag == "script"
        if "id" in a:
            self.ids.append(a["id"])
        self.references += [r for k in ("aria-labelledby", "aria-describedby") if k in a for r in a[k].split()]
        self.links += [a[k] for k in ("href", "src", "xlink:href", "action", "data") if k in a]
        self.wrong += [f"<{tag} {k}>" for k in a if k.startswith("on")]
        if tag == "table":
            self.tables.append({"caption": False, "unscoped": 0, "rows": set()})
        if tag == "caption":
            self.tables[-1]["caption"] = True
        if tag == "th":
            self.tables[-1]["unscoped"] += "scope" not in a
        if tag == "tr":
            self.tables[-1]["cells"] = 0
        if tag in ("td", "th"):
            self.tables[-1]["cells"] += 1
        if a.get("role") == "img":
            self.images.append("aria-labelledby" in a or "aria-label" in a)
        elif tag == "svg" and a.get("aria-hidden") != "true":
            self.wrong.append("a picture that is neither labelled nor hidden")
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> at {self.getpos()} ends nothing")
        if tag == "tr":
            self.tables[-1]["rows"].add(self.tables[-1]["cells"])

    def handle_data(self, data):
        if self.open:
            self.texts[self.open[-1]] = self.texts.get(self.open[-1], "") + data


def check(path):
    text = open(path, encoding="utf-8").read()
    page = Page()
    page.feed(text)
    page.close()
    rule("every element is closed and none has a handler", page.wrong + page.open)
    rule("ids are distinct", {i for i in page.ids if page.ids.count(i) > 1})
    rule("references lead somewhere", set(page.references + [l[1:] for l in page.links if l[0] == "#"]) - set(page.ids))
    rule("nothing outside the page is named", [l for l in page.links if l[0] != "#"] +
         re.findall(r"(?:https?:)?//[a-z][^\s\"'<]*|url\([^)]*|@import[^;]*", "".join(page.texts.get(t, "") for t in
                                                                                     ("style", "script"))))
    rule("tables have captions, scopes and equal rows",
         [str(t) for t in page.tables if not t["caption"] or t["unscoped"] or len(t["rows"]) != 1])
    rule("pictures have labels", ["a picture without a label"] * page.images.count(False))
    rule("one h1, and no level is left out", [] if page.headings.count(1) == 1 and page.headings[0] == 1 and all(
        b <= a + 1 for a, b in zip(page.headings, page.headings[1:])) else [str(page.headings)])
    rule("language, title and one script", [] if '<html lang="en">' in text and page.texts.get("title", "").strip() and
         page.scripts == 1 else ["missing"])
    rule("no control characters", re.findall(r"[^\x20-\x7e\n\xa0-\uffff]", text))
    print(f"# {len(text.encode())} bytes, {len(page.tables)} tables, {len(page.images)} pictures")


def checked(path):
    found = re.findall(r'<pre id="all">(.*?)</pre>', open(path, encoding="utf-8").read(), re.S)
    for page, rules in json.loads(html.unescape(found[-1])).items() if found else [("all", {"the browser ran": ["no result"]})]:
        for name, wrong in rules.items():
            rule(f"{page} pixels: {name}", wrong)


if sys.argv[1] == "--checked":
    checked(sys.argv[2])
else:
    check(sys.argv[1])
sys.exit(failures > 0)
