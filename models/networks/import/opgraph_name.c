/* The names of NeuSight's operator graphs. See import.h. */
#include "models/networks/import/import.h"
#include "base/strings.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Takes a number of at most ten digits, 1 or more, off the front of *at. */
static bool take_number(const char **at, int64_t *out)
{
    size_t digits = 0;
    while (isdigit((unsigned char)(*at)[digits]))
        digits++;
    if (digits == 0 || digits > 10 || rt_parse_integer(*at, digits, out) != 0 || *out < 1)
        return false;
    *at += digits;
    return true;
}

static bool take_text(const char **at, const char *text)
{
    size_t length = strlen(text);
    if (strncmp(*at, text, length) != 0)
        return false;
    *at += length;
    return true;
}

/* "-fusion", "-dp4", "-tp4", "-pp4_1" or nothing */
static bool take_option(const char **at, struct rt_opgraph_name *out)
{
    if (take_text(at, "-fusion"))
        return out->fusion = true;
    if (take_text(at, "-dp"))
        return take_number(at, &out->data_parallel);
    if (take_text(at, "-tp"))
        return take_number(at, &out->tensor_parallel);
    if (take_text(at, "-pp"))
        return take_number(at, &out->pipeline) && take_text(at, "_") && take_number(at, &out->microbatches);
    return true;
}

bool rt_opgraph_name(const char *path, struct rt_opgraph_name *out)
{
    static const struct {
        const char *text;
        enum rt_step_kind step;
    } modes[] = {{"-inf-", RT_STEP_PREFILL}, {"-train-", RT_STEP_TRAINING}};
    const char *slash = strrchr(path, '/'), *start = slash != NULL ? slash + 1 : path;
    struct rt_opgraph_name name = {
        .data_parallel = 1, .tensor_parallel = 1, .pipeline = 1, .microbatches = 1};
    const char *at = NULL;
    for (size_t i = 0; at == NULL && i < 2; i++) {
        at = strstr(start, modes[i].text);
        name.step = modes[i].step;
    }
    if (at == NULL || at == start || (size_t)(at - start) >= sizeof name.model)
        return false;
    memcpy(name.model, start, (size_t)(at - start));
    at += name.step == RT_STEP_TRAINING ? strlen("-train-") : strlen("-inf-");
    bool fits = take_number(&at, &name.sequence) && take_text(&at, "-") && take_number(&at, &name.batch) &&
                take_option(&at, &name) && (*at == '\0' || strcasecmp(at, ".csv") == 0);
    if (fits)
        *out = name;
    return fits;
}
