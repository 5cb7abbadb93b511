/*
 * Python literals as NeuSight's tables write them: whole numbers, texts, and lists, tuples and sets of those.
 * Internal to models/networks.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum rt_python_literal_kind { RT_PYTHON_INTEGER, RT_PYTHON_TEXT, RT_PYTHON_LIST /* or tuple, or set */ };

/* Values stand in the order of the text: the items of a list follow it, up to `end`. */
struct rt_python_literal {
    enum rt_python_literal_kind kind;
    uint32_t end;     /* number of the value behind this one and all it holds */
    uint32_t count;   /* items of a list */
    uint32_t length;  /* of a text */
    int64_t integer;  /* absolute value below 10^18 */
    const char *text; /* into what was parsed, without quotes, not terminated */
};

struct rt_python_literals {
    struct rt_python_literal *value; /* the first is the whole */
    size_t count, capacity;
};

/* RT_EFORMAT "character 12: ..." where the text is not one literal. `out` may be used again and again; free
 * out->value at the end. */
int rt_python_literal_parse(const char *text, size_t length, struct rt_python_literals *out);
