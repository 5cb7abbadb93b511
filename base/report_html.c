/*
 * A report as one page of HTML: no other file, no network, no times, so that the same report has the same
 * bytes. It is read on a phone (tables scroll in their own box), on paper, light and dark; without its
 * script, which sorts tables and copies them as CSV.
 */
#include "base/options.h"
#include "base/plot_data.h"
#include "base/plot_svg.h"
#include "base/report_data.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/text.h"
#include "base/version.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char style[] =
    ":root{color-scheme:light dark;--text:#1a1a1a;--back:#fff;--soft:#595959;--line:#c8c8c8;--band:#f4f4f4;"
    "--link:#0b5394}\n"
    "@media(prefers-color-scheme:dark){:root{--text:#e6e6e6;--back:#121212;--soft:#b0b0b0;--line:#4a4a4a;"
    "--band:#1e1e1e;--link:#8ab4f8}}\n"
    "@media print{:root{color-scheme:light;--text:#000;--back:#fff;--soft:#333;--line:#999;--band:#fff;"
    "--link:#000}}\n"
    "*{box-sizing:border-box}\n"
    "html{-webkit-text-size-adjust:100%}\n"
    "body{margin:0;background:var(--back);color:var(--text);font:16px/1.5 system-ui,sans-serif}\n"
    "main{max-width:110rem;margin:0 auto;padding:1rem}\n"
    "h1{font-size:1.5rem;line-height:1.25;margin:.5rem 0 1rem}h2{font-size:1.2rem;margin:2rem 0 .5rem}\n"
    "h1,h2,p,dd,li,figcaption,code,pre{overflow-wrap:anywhere}pre{white-space:pre-wrap}\n"
    "a{color:var(--link)}h2 a{color:inherit;text-decoration:none}h2 a:hover{text-decoration:underline}\n"
    "dl{display:grid;grid-template-columns:minmax(6rem,max-content) 1fr;gap:.25rem 1rem;margin:0 0 1rem}\n"
    "dt{color:var(--soft)}dd{margin:0;grid-column:2;white-space:pre-line}\n"
    "@media(max-width:30rem){dl{display:block}dd{margin:0 0 .5rem 1rem}}\n"
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.5rem;margin:0 0 1rem}"
    ".tiles div{border:1px solid var(--line);border-radius:.4rem;padding:.4rem .7rem;background:var(--band)}"
    ".tiles dt{font-size:.85rem}.tiles dd{margin:0;font-size:1.35rem;line-height:1.3;overflow-wrap:anywhere}"
    ".tiles .more{font-size:.85rem;color:var(--soft)}"
    ".bar{height:.5rem;margin:.2rem 0 .1rem;background:var(--line);border-radius:.25rem;overflow:hidden}"
    ".bar i{display:block;height:100%;background:var(--link);print-color-adjust:exact}.bar "
    ".over{background:#c0392b}\n"
    "@media(max-width:30rem){.tiles{grid-template-columns:1fr 1fr}.tiles "
    "div:last-child:nth-child(odd){grid-column:1/-1}}\n"
    ".box{overflow-x:auto;max-width:100%;margin:0 0 .5rem}\n"
    ".box:focus-visible,button:focus-visible,a:focus-visible{outline:2px solid var(--link)}\n"
    "table{width:100%;border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}\n"
    "caption{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}\n"
    "th,td{padding:.2rem .4rem;text-align:left;border-bottom:1px solid var(--line);vertical-align:top}\n"
    "thead th{border-bottom:2px solid var(--line);vertical-align:bottom}tbody "
    "th{font-weight:inherit}\n"
    "tbody th,thead th:first-child{position:sticky;left:0;background:var(--back)}tbody "
    "tr:nth-child(even) th{background:var(--band)}\n"
    "@media(max-width:30rem){tbody th{max-width:9rem;overflow-wrap:break-word}tbody th.l,tbody "
    "th{white-space:normal!important}}\n"
    "@media(min-width:30rem){tbody th{min-width:6rem}}@media(min-width:75rem){td,tbody "
    "th{white-space:nowrap}}\n"
    "@media(max-width:75rem){table{font-size:.8rem}th,td{padding:.2rem}th:not([aria-sort]) "
    "button:not(:hover):not(:focus-visible)::after{content:none}}.l{white-space:pre-wrap;min-width:16rem}"
    "tbody "
    "tr:nth-child(even){background:var(--band)}\n"
    "th button{all:unset;cursor:pointer;font-weight:bold}th button:focus-visible{outline:2px solid "
    "var(--link)}\n"
    "th button::after{content:\"\\a0\\2195\";color:var(--soft)}th[aria-sort=ascending] "
    "button::after{content:\"\\a0"
    "\\2191\"}th[aria-sort=descending] button::after{content:\"\\a0\\2193\"}\n"
    ".copy{font:inherit;font-size:.8rem;color:var(--text);background:var(--band);border:1px solid "
    "var(--line);border-radius:.25rem;padding:.2rem .6rem;cursor:pointer}\n"
    ".figures{display:grid;gap:1.5rem;margin:1rem 0}"
    "figure{break-inside:avoid;margin:0;min-width:0}figcaption{font-size:.9rem}figcaption b{display:block}\n"
    /* A picture that would leave the rest of its row empty has its words beside it. */
    "@media(min-width:48rem)and (max-width:74.99rem){.figures{grid-template-columns:1fr 1fr}"
    "figure:last-child:nth-child(odd){grid-column:1/-1;display:grid;grid-template-columns:1fr "
    "1fr;gap:0 1.5rem;grid-template-rows:auto 1fr}figure:last-child:nth-child(odd) .plot{grid-row:1/3}}\n"
    "@media(min-width:75rem){.figures{grid-template-columns:repeat(12,1fr)}figure{grid-column:span 3}"
    "figure:first-child:nth-last-child(3n),figure:first-child:nth-last-child(3n)~figure,"
    "figure:first-child:nth-last-child(5),figure:first-child:nth-last-child(5)~figure{grid-column:span 4}"
    "figure:first-child:nth-last-child(-n+2),figure:first-child:nth-last-child(2)~figure{grid-column:span "
    "6;display:grid;grid-template-columns:3fr 2fr;gap:0 1.5rem;grid-template-rows:auto 1fr}"
    "figure:first-child:nth-last-child(-n+2) .plot,figure:first-child:nth-last-child(2)~figure "
    ".plot{grid-row:1/3}figure:only-child{grid-column:span 8!important}}\n"
    ".legend{list-style:none;display:flex;flex-wrap:wrap;align-content:start;gap:.1rem 1rem;margin:.25rem "
    "0;padding:0;"
    "font-size:.9rem}\n"
    ".key{width:30px;height:12px;vertical-align:middle}.defs{position:absolute}\n"
    "nav ul{columns:11rem;gap:1.5rem;list-style:none;margin:0 0 "
    "1.5rem;padding:.5rem 0;border:solid var(--line);border-width:1px 0;font-size:.9rem}"
    "nav li{break-inside:avoid;overflow-wrap:anywhere}@media print{nav{display:none}}\n"
    ".notes{padding-left:1.2rem}.words{white-space:pre-line}\n"
    "footer{margin-top:2.5rem;border-top:1px solid var(--line);color:var(--soft);font-size:.9rem}\n"
    "@media print{main{max-width:none;padding:0}body{font-size:11pt}.copy,th button::after{display:none}"
    "tbody th,thead "
    "th:first-child{position:static}.tiles{grid-template-columns:repeat(auto-fit,minmax(7rem,1fr))}"
    ".box{overflow:visible;break-inside:avoid}.figures{grid-template-columns:1fr "
    "1fr!important;gap:.75rem}figure{display:block!important;grid-column:auto!important}figcaption,.legend{"
    "font-size:8.5pt}table{font-size:8.5pt}"
    "figure,tr{"
    "break-inside:avoid}thead{display:"
    "table-header-group}h2{break-after:avoid}th,td{padding:.1rem .3rem}td,tbody th,thead "
    "th{white-space:normal}.l{min-width:0}}\n";

/* Sorting keeps what is missing last. */
static const char script[] =
    "\"use strict\";\n"
    "for(const table of document.querySelectorAll(\"table\")){\n"
    "const body=table.tBodies[0],heads=[...table.tHead.rows[0].cells];\n"
    "const value=(row,i)=>{const t=row.cells[i].textContent,v=parseFloat(t);return "
    "t===\"-\"?null:isNaN(v)?t:v};\n"
    "const compare=(a,b)=>typeof a===\"number\"&&typeof "
    "b===\"number\"?a-b:String(a).localeCompare(String(b),\"en\",{numeric:true});\n"
    "heads.forEach((head,i)=>{\n"
    "const button=document.createElement(\"button\");button.type=\"button\";\n"
    "button.append(...head.childNodes);head.append(button);\n"
    "button.addEventListener(\"click\",()=>{\n"
    "const down=head.ariaSort===\"ascending\";\n"
    "heads.forEach(h=>h.removeAttribute(\"aria-sort\"));\n"
    "head.setAttribute(\"aria-sort\",down?\"descending\":\"ascending\");\n"
    "const rows=[...body.rows].map(r=>[value(r,i),r]);\n"
    "rows.sort(([a],[b])=>a===null||b===null?(a===null)-(b===null):(down?-1:1)*compare(a,b));\n"
    "body.append(...rows.map(r=>r[1]));});});\n"
    "const copy=document.createElement(\"button\");copy.type=\"button\";copy.className=\"copy\";\n"
    "copy.textContent=\"Copy as CSV\";copy.setAttribute(\"aria-label\",\"Copy as CSV: "
    "\"+table.caption.textContent);\n"
    "copy.addEventListener(\"click\",async()=>{\n"
    "const cell=c=>{const t=c.textContent;return /[\",\\n]/.test(t)?'\"'+t.replaceAll('\"','\"\"')+'\"':t};\n"
    "const text=[...table.rows].map(r=>[...r.cells].map(cell).join(\",\")+\"\\n\").join(\"\");\n"
    "try{await navigator.clipboard.writeText(text);copy.textContent=\"Copied\"}\n"
    "catch{copy.textContent=\"The browser does not let this page copy\"}});\n"
    "table.parentElement.after(copy);\n"
    "}\n";

/* What is open while a page is printed. */
enum open { NOTHING, FACTS, NOTES, FIGURES, TILES };

struct page {
    const struct rt_report *report;
    FILE *file;
    enum open open;
    bool titled;
    size_t plots, tables;
    struct rt_strings ids; /* of sections, each once */
    char **id;             /* of each item that begins a section, NULL of the others */
};

/* ---- parts ---- */

static void change(struct page *page, enum open open)
{
    static const char *const begin[] = {"", "<dl>\n", "<ul class=\"notes\">\n", "<div class=\"figures\">\n",
                                        "<dl class=\"tiles\">\n"};
    static const char *const end[] = {"", "</dl>\n", "</ul>\n", "</div>\n", "</dl>\n"};
    if (page->open == open)
        return;
    fputs(end[page->open], page->file);
    fputs(begin[open], page->file);
    page->open = open;
}

static void print_element(struct page *page, const char *tag, const char *text)
{
    fprintf(page->file, "<%s>", tag);
    rt_html_text(text, page->file);
    fprintf(page->file, "</%.*s>\n", (int)strcspn(tag, " "), tag);
}

/* The letters and digits of a text, joined by dashes; a number behind where another section has them. */
static char *make_id(struct page *page, const char *text)
{
    struct rt_text id = {0};
    for (const char *at = text; *at != '\0' && id.length < 40; at++)
        if (isalnum((unsigned char)*at) && (unsigned char)*at < 128)
            rt_text_add(&id, "%c", tolower((unsigned char)*at));
        else if (id.length > 0 && id.text[id.length - 1] != '-')
            rt_text_add(&id, "-");
    if (id.length == 0)
        rt_text_add(&id, "section");
    size_t length = id.length;
    for (int number = 2; rt_strings_find(&page->ids, id.text, id.length) >= 0; number++) {
        id.length = length;
        rt_text_add(&id, "-%d", number);
    }
    rt_strings_add(&page->ids, id.text, id.length);
    return rt_text_take(&id);
}

static void name_sections(struct page *page)
{
    page->id = rt_calloc(page->report->count + 1, sizeof *page->id);
    for (size_t i = 0; i < page->report->count; i++) {
        const struct rt_item *item = &page->report->item[i];
        if (rt_item_is_shown(item) &&
            (item->kind == RT_ITEM_HEADING || (item->kind == RT_ITEM_TABLE && item->text[0] != '\0')))
            page->id[i] = make_id(page, item->text);
    }
}

static void print_heading(struct page *page, const struct rt_item *item)
{
    const char *id = page->id[item - page->report->item];
    fprintf(page->file, "<h2 id=\"%s\"><a href=\"#%s\">", id, id);
    rt_html_text(item->text, page->file);
    fputs("</a></h2>\n", page->file);
}

enum { FEW_SECTIONS = 4 }; /* they need no list */

static void print_sections(struct page *page)
{
    size_t sections = 0;
    for (size_t i = 0; i < page->report->count; i++)
        sections += page->id[i] != NULL;
    if (sections <= FEW_SECTIONS)
        return;
    fputs("<nav aria-label=\"Sections\">\n<ul>\n", page->file);
    for (size_t i = 0; i < page->report->count; i++) {
        if (page->id[i] == NULL)
            continue;
        fprintf(page->file, "<li><a href=\"#%s\">", page->id[i]);
        rt_html_text(page->report->item[i].text, page->file);
        fputs("</a></li>\n", page->file);
    }
    fputs("</ul>\n</nav>\n", page->file);
}

/* The first is the page's title, what follows it belongs to it. */
static void print_title(struct page *page, const char *text)
{
    print_element(page, page->titled ? "p class=\"words\"" : "h1", text);
    page->titled = true;
}

/* A fact without a label goes on under the one before. */
static void print_fact(struct page *page, const struct rt_item *item)
{
    if (item->label[0] == '\0' && page->open != FACTS) {
        change(page, NOTHING);
        print_element(page, "p class=\"words\"", item->text);
        return;
    }
    change(page, FACTS);
    if (item->label[0] != '\0')
        print_element(page, "dt", item->label);
    print_element(page, "dd", item->text);
}

static void print_tile(struct page *page, const struct rt_item *item)
{
    int value = (int)strcspn(item->text, "\n");
    char *first = rt_format("%.*s", value, item->text);
    fputs("<div>", page->file);
    print_element(page, "dt", item->label);
    print_element(page, "dd", first);
    if (item->share >= 0) /* false for NaN */
        fprintf(page->file, "<dd class=\"bar\"><i style=\"width:%.0f%%\"%s></i></dd>\n",
                100 * (item->share < 1 ? item->share : 1), item->share > 1 ? " class=\"over\"" : "");
    if (item->text[value] != '\0')
        print_element(page, "dd class=\"more\"", item->text + value + 1);
    fputs("</div>\n", page->file);
    free(first);
}

static void print_table(struct page *page, const struct rt_item *item)
{
    char *caption = item->text[0] != '\0' ? rt_strdup(item->text) : rt_format("Table %zu", page->tables + 1);
    page->tables++;
    if (item->text[0] != '\0')
        print_heading(page, item);
    fputs("<div class=\"box\" tabindex=\"0\" role=\"region\" aria-label=\"", page->file);
    rt_html_text(caption, page->file);
    fputs("\">\n", page->file);
    rt_table_html(item->table, caption, page->file);
    fputs("</div>\n", page->file);
    free(caption);
}

static void print_plot(struct page *page, const struct rt_plot *plot)
{
    size_t number = ++page->plots;
    char *attributes =
        rt_format(" role=\"img\" aria-labelledby=\"figure-%zu-title\" aria-describedby=\"figure-%zu-words\"",
                  number, number);
    fprintf(page->file, "<figure id=\"figure-%zu\">\n", number);
    bool drawn = rt_plot_svg(plot, attributes, page->file);
    if (drawn)
        rt_plot_legend(plot, page->file);
    fprintf(page->file, "<figcaption><b id=\"figure-%zu-title\">", number);
    rt_html_text(plot->title, page->file);
    fprintf(page->file, "</b> <span id=\"figure-%zu-words\">", number);
    rt_html_text(plot->alt, page->file);
    fprintf(page->file, "</span>%s</figcaption>\n</figure>\n", drawn ? "" : " (Nothing of it can be drawn.)");
    free(attributes);
}

static void print_item(struct page *page, const struct rt_item *item)
{
    switch (item->kind) {
    case RT_ITEM_FACT:
        print_fact(page, item);
        return;
    case RT_ITEM_NOTE:
        change(page, NOTES);
        print_element(page, "li", item->text);
        return;
    case RT_ITEM_TILE:
        change(page, TILES);
        print_tile(page, item);
        return;
    case RT_ITEM_PLOT:
        change(page, FIGURES);
        print_plot(page, item->plot);
        return;
    default:
        break;
    }
    change(page, NOTHING);
    if (item->kind == RT_ITEM_TITLE)
        print_title(page, item->text);
    else if (item->kind == RT_ITEM_PARAGRAPH)
        print_element(page, "p", item->text);
    else if (item->kind == RT_ITEM_LINES || item->kind == RT_ITEM_MARKDOWN)
        print_element(page, "pre class=\"box\" tabindex=\"0\"", item->text);
    else if (item->kind == RT_ITEM_HEADING)
        print_heading(page, item);
    else
        print_table(page, item);
}

/* ---- the page ---- */

/* Where the first thing that people see is a title, that; else the name of the command. */
static const char *title_of(const struct rt_report *report, bool *own)
{
    size_t i = 0;
    while (i < report->count && !rt_item_is_shown(&report->item[i]))
        i++;
    *own = i < report->count && report->item[i].kind == RT_ITEM_TITLE;
    return *own ? report->item[i].text : rt_command_title();
}

enum { MOST_COLUMNS = 40 }; /* of a table; those behind them stand on the left */

static void print_head(struct page *page)
{
    bool own;
    const char *title = title_of(page->report, &own);
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
          page->file);
    print_element(page, "title", title);
    fprintf(page->file, "<style>\n%s", style);
    rt_plot_style(page->file);
    for (int column = 1; column <= MOST_COLUMNS; column++)
        fprintf(page->file, ".r%d tr>:nth-child(%d)%s", column, column,
                column < MOST_COLUMNS ? "," : "{text-align:right}\n");
    fputs("</style>\n</head>\n<body>\n", page->file);
    rt_plot_markers(page->file);
    fputs("<main>\n", page->file);
    if (!own)
        print_title(page, title);
}

static void print_foot(struct page *page)
{
    fprintf(page->file, "<footer>\n<p>Made by rooftile %s%s", RT_VERSION,
            rt_command_words()[0] != '\0' ? ": <code>" : "");
    if (rt_command_words()[0] != '\0') {
        rt_html_text(rt_command_words(), page->file);
        fputs("</code>", page->file);
    }
    fprintf(page->file, "</p>\n</footer>\n</main>\n<script>\n%s</script>\n</body>\n</html>\n", script);
}

static void print_page(struct page *page)
{
    const struct rt_report *report = page->report;
    bool begun = false; /* behind the title */
    print_head(page);
    for (size_t i = 0; i < report->count; i++) {
        if (!rt_item_is_shown(&report->item[i]))
            continue;
        if (!begun && report->item[i].kind != RT_ITEM_TITLE) {
            print_sections(page);
            begun = true;
        }
        print_item(page, &report->item[i]);
    }
    change(page, NOTHING);
    print_foot(page);
}

int rt_report_html(const struct rt_report *report, FILE *file)
{
    struct page page = {.report = report, .file = file};
    name_sections(&page);
    print_page(&page);
    for (size_t i = 0; i < report->count; i++)
        free(page.id[i]);
    free(page.id);
    rt_strings_release(&page.ids);
    return RT_OK;
}
