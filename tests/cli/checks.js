// Put at the end of a page by test_report_html.sh: writes what is wrong of it, as a reader sees it, into <pre id="checks">.
{
  const wrong = {};
  const note = (name, what) => (wrong[name] = wrong[name] || []).push(what);
  const rules = ["width", "text contrast 4.5", "graphics contrast 3", "labels", "sorting", "colours follow the scheme"];
  rules.forEach((name) => (wrong[name] = []));

  const parse = (colour) => (colour.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const contrast = (a, b) => {
    const [x, y] = [luminance(a), luminance(b)];
    return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
  };
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };

  // The page never scrolls sideways; what is wide scrolls in its own box.
  const width = document.documentElement;
  if (width.scrollWidth > innerWidth) note("width", `${width.scrollWidth} > ${innerWidth}`);
  if (typeof wanted !== "undefined" && innerWidth !== wanted) note("width", `the window has ${innerWidth}, not ${wanted}`);

  for (const element of document.querySelectorAll("main *:not(svg title)")) { // those titles are shown by the browser itself
    const style = getComputedStyle(element), own = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    const colour = parse(element instanceof SVGElement ? style.fill : style.color);
    if (own && contrast(colour, behind(element)) < 4.5)
      note("text contrast 4.5", `${element.tagName} "${element.textContent.slice(0, 30)}" ${colour} on ${behind(element)}`);
    const series = element instanceof SVGElement && (element.getAttribute("class") || "").match(/^([kfc])([1-6])\b/);
    const drawn = series && parse({ k: style.stroke, f: style.fill, c: style.color }[series[1]]);
    if (drawn && contrast(drawn, behind(element)) < 3) note("graphics contrast 3", `${series[0]} ${drawn}`);
  }

  const named = (e) =>
    e.getAttribute("aria-label") || e.textContent.trim() ||
    (e.getAttribute("aria-labelledby") || "").split(" ").map((id) => document.getElementById(id)?.textContent || "").join("");
  for (const e of document.querySelectorAll("button, a, [role=img], [role=region]"))
    if (!named(e)) note("labels", e.outerHTML.slice(0, 60));

  // Each column sorts both ways by its button, what is missing last; the rows stay the same ones.
  for (const table of document.querySelectorAll("table")) {
    const before = [...table.tBodies[0].rows].map((r) => r.textContent).sort().join("\n");
    [...table.tHead.rows[0].cells].forEach((head, i) => {
      for (const way of ["ascending", "descending"]) {
        head.querySelector("button").click();
        const cells = [...table.tBodies[0].rows].map((r) => r.cells[i].textContent);
        const numbers = cells.filter((t) => t !== "-").map(parseFloat);
        const sign = way === "ascending" ? 1 : -1;
        if (head.getAttribute("aria-sort") !== way) note("sorting", `${head.textContent}: ${head.getAttribute("aria-sort")}`);
        if (!numbers.some(isNaN) && numbers.some((v, n) => n > 0 && sign * (v - numbers[n - 1]) < 0))
          note("sorting", `${head.textContent} ${way}: ${cells.slice(0, 8)}`);
        if (cells.slice(0, numbers.length).includes("-")) note("sorting", `${head.textContent}: "-" is not last`);
      }
    });
    if ([...table.tBodies[0].rows].map((r) => r.textContent).sort().join("\n") !== before) note("sorting", "rows were lost");
  }

  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  if (luminance(behind(document.body)) > 0.5 === dark) note("colours follow the scheme", `dark ${dark}`);
  if (typeof scheme !== "undefined" && (scheme === "dark") !== dark) note("colours follow the scheme", `asked for ${scheme}`);

  const pre = document.createElement("pre");
  pre.id = "checks";
  pre.textContent = JSON.stringify(wrong);
  document.body.append(pre);
}
