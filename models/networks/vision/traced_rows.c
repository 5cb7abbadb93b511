/* The networks of traced.def: texts of words (traced.h), and a row for each network with the numbers that are
 * its own. */
#include "base/status.h"
#include "base/text.h"
#include "models/networks/vision/traced.h"
#include "models/networks/vision/vision.h"

#include <stdlib.h>
#include <string.h>

/* Networks of one make differ in numbers: "$2" in a text is the third of a row's. */
struct traced {
    size_t text;
    const char *numbers;
};

#define TEXT(text) text,
#define ANY(...)
#define FIXED(...)
static const char *const texts[] = {
#include "models/networks/vision/traced.def"
};
#undef TEXT
#undef ANY
#undef FIXED

/* Free it. */
static char *text_of(const struct traced *traced)
{
    struct rt_text text = {0};
    const char *at = texts[traced->text];
    for (size_t plain;
         plain = strcspn(at, "$"), rt_text_add(&text, "%.*s", (int)plain, at), at[plain] != '\0';) {
        const char *value = traced->numbers;
        char *end;
        for (long n = strtol(at + plain + 1, &end, 10); n > 0; n--)
            value += strcspn(value, " ") + 1;
        rt_text_add(&text, "%.*s", (int)strcspn(value, " "), value);
        at = end;
    }
    return rt_text_take(&text);
}

static void build(const struct rt_vision *vision, struct rt_graph *graph)
{
    char *text = text_of(vision->settings);
    rt_traced_build(graph, text);
    free(text);
}

/* A text with sizes of places is of one image (FIXED), others fit any. */
#define TEXT(text)
/* clang-format off */
#define ANY(name_, aliases_, side, labels, text, numbers, ...) \
    {.name = name_, .aliases = aliases_, .image = side, .classes = labels, .build = build, \
     .settings = &(const struct traced){text, numbers}, __VA_ARGS__},
#define FIXED(...) ANY(__VA_ARGS__, .fixed_image = true)
/* clang-format on */
static const struct rt_vision models[] = {
#include "models/networks/vision/traced.def"
};

const struct rt_vision_family rt_vision_traced = {"timm, as traced", models, RT_COUNT(models)};
