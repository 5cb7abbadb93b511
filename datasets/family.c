/* The family table. See family.h. */
#include "datasets/family.h"
#include "base/status.h"
#include "base/text.h"

#include <string.h>

const struct rt_family_row rt_families[RT_FAMILY_COUNT] = {
    [RT_FAMILY_BMM] = {"bmm", .product = true, .tensor = true, .keeps = RT_KEEPS_INPUTS},
    [RT_FAMILY_LINEAR] = {"linear", .product = true, .tensor = true, .keeps = RT_KEEPS_INPUTS},
    [RT_FAMILY_ELEMENTWISE] = {"elementwise", .pointwise = true, .keeps = RT_KEEPS_INPUTS},
    [RT_FAMILY_SOFTMAX] = {"softmax", .row_wise = true, .keeps = RT_KEEPS_OUTPUT},
    [RT_FAMILY_LAYERNORM] = {"layernorm", .row_wise = true, .keeps = RT_KEEPS_INPUTS},
    [RT_FAMILY_CONV] = {"conv", .tensor = true, .bound_is_time = true, .keeps = RT_KEEPS_INPUTS},
    [RT_FAMILY_ATTENTION] = {"attention", .attention = true, .tensor = true, .keeps = RT_KEEPS_INPUTS},
    [RT_FAMILY_MOE] = {"moe", .tensor = true, .keeps = RT_KEEPS_INPUTS},
    [RT_FAMILY_COLLECTIVE] = {"collective", .link = true},
    [RT_FAMILY_MEMORY] = {"memory", .moves = true},
    [RT_FAMILY_HOST] = {"host", .host = true},
    [RT_FAMILY_LATENT] = {"latent", .attention = true, .tensor = true, .keeps = RT_KEEPS_INPUTS},
    [RT_FAMILY_RECURRENT] = {"recurrent", .tensor = true, .keeps = RT_KEEPS_INPUTS},
};

bool rt_family_vector(enum rt_family family)
{
    return rt_families[family].pointwise || rt_families[family].row_wise;
}

int rt_family_find(const char *name)
{
    for (int i = 0; i < RT_FAMILY_COUNT; i++)
        if (strcmp(rt_families[i].name, name) == 0)
            return i;
    return -1;
}

int rt_family_check(const char *option, const char *name)
{
    struct rt_text known = {0};
    if (rt_family_find(name) >= 0)
        return RT_OK;
    for (int f = 0; f < RT_FAMILY_COUNT; f++)
        rt_text_item(&known, ", ", "%s", rt_families[f].name);
    int status =
        rt_fail(RT_EUSAGE, "%s %s: there is no family of that name; there are %s", option, name, known.text);
    rt_text_release(&known);
    return status;
}

void rt_family_suggest(struct rt_text *list)
{
    for (int f = 0; f < RT_FAMILY_COUNT; f++)
        rt_text_add(list, "%s\n", rt_families[f].name);
}
