/* Lists, numbers and choices of command lines. See arguments.h. */
#include "base/options.h"
#include "base/status.h"
#include "base/strings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rt_names_add(struct rt_names *names, const char *name)
{
    names->name = rt_realloc(names->name, names->count + 1, sizeof *names->name);
    names->name[names->count++] = name;
}

void rt_names_release(struct rt_names *names)
{
    free(names->name);
    *names = (struct rt_names){0};
}

int rt_argument_integer(const char *option, const char *text, int64_t least, int64_t most, int64_t *value)
{
    int64_t parsed;
    if (rt_parse_integer(text, strlen(text), &parsed) != 0 || parsed < least || parsed > most)
        return rt_fail(RT_EUSAGE, "%s %s: must be a whole number from %" PRId64 " to %" PRId64, option, text,
                       least, most);
    *value = parsed;
    return RT_OK;
}

int rt_argument_real(const char *option, const char *text, double least, double most, double *value)
{
    double parsed;
    if (rt_parse_real(text, strlen(text), &parsed) != 0 || parsed < least || parsed > most)
        return rt_fail(RT_EUSAGE, "%s %s: must be a number from %g to %g", option, text, least, most);
    *value = parsed;
    return RT_OK;
}

int rt_argument_choice(const char *option, const char *text, const char *const *names, int count, int *value)
{
    char known[256] = "";
    for (int i = 0; i < count; i++) {
        if (strcmp(text, names[i]) == 0) {
            *value = i;
            return RT_OK;
        }
        size_t length = strlen(known);
        snprintf(known + length, sizeof known - length, "%s%s",
                 i == 0          ? ""
                 : i + 1 < count ? ", "
                                 : " or ",
                 names[i]);
    }
    return rt_fail(RT_EUSAGE, "%s %s: choose %s", option, text, known);
}
