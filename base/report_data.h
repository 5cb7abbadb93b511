/* What a report holds, for those who print it. See report.h. */
#pragma once

#include "base/plot.h"
#include "base/report.h"

enum rt_item_kind {
    RT_ITEM_TITLE,
    RT_ITEM_HEADING,
    RT_ITEM_FACT,
    RT_ITEM_TABLE,
    RT_ITEM_NOTE,
    RT_ITEM_PARAGRAPH,
    RT_ITEM_LINES,
    RT_ITEM_MARKDOWN, /* a text that is Markdown already */
    RT_ITEM_FRONT,    /* of Markdown and JSON */
    RT_ITEM_PLOT,     /* of HTML */
    RT_ITEM_TILE,     /* of HTML: `text` is a line to read from afar, and perhaps another */
};

struct rt_item {
    enum rt_item_kind kind;
    char *key;        /* NULL: not in JSON */
    const char *list; /* the member in whose one element the key is; NULL: in none */
    char *label;      /* of a fact; NULL: not for people */
    char *text; /* for people: a line, the words of a fact, the title of a table; NULL: not for people */
    json_t *value;
    struct rt_table *table;
    struct rt_plot *plot;
    double share; /* of a tile: a bar of so much of its width, 0..1; NaN: none */
};

struct rt_report {
    struct rt_item *item;
    size_t count;
    const char *list; /* of items that are added now */
    struct rt_table *csv;
};

/* Is it for people? Plots are in HTML only. */
static inline bool rt_item_is_shown(const struct rt_item *item)
{
    switch (item->kind) {
    case RT_ITEM_FACT:
        return item->label != NULL;
    case RT_ITEM_FRONT:
        return false;
    case RT_ITEM_TABLE:
        return item->text != NULL && rt_table_rows(item->table) > 0;
    default:
        return true;
    }
}

/* A page of HTML, report_html.c. */
int rt_report_html(const struct rt_report *report, FILE *file);
