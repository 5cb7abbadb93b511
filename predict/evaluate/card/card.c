/* What all cards have. See card.h. */
#include "predict/evaluate/card/card_parts.h"
#include "base/status.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

char *rt_card_names(const char *const *names, size_t count, size_t shown)
{
    struct rt_text words = {0};
    for (size_t i = 0; i < count && i < shown; i++)
        rt_text_item(&words, i + 1 == count ? " and " : ", ", "%s", names[i]);
    if (count > shown)
        rt_text_add(&words, " and %zu more", count - shown);
    return rt_text_take(&words);
}

char *rt_card_shell_word(const char *word)
{
    struct rt_text quoted = {0};
    bool plain = word[0] != '\0' && word[0] != '-';
    for (const char *at = word; plain && *at != '\0'; at++)
        plain = isalnum((unsigned char)*at) || strchr("-_./=:,+@%", *at) != NULL;
    if (plain)
        return rt_strdup(word);
    rt_text_add(&quoted, "'");
    for (const char *at = word; *at != '\0'; at++)
        rt_text_add(&quoted, *at == '\'' ? "'\\%c'" : "%c", *at);
    rt_text_add(&quoted, "'");
    return rt_text_take(&quoted);
}

void rt_card_add_end(struct rt_report *report, const struct rt_card_options *options, const char *sources)
{
    char *citations = rt_citations(sources, options->citation);
    rt_report_add_heading(report, "How to cite");
    rt_report_add_paragraph(report, "%s",
                            options->citation != NULL
                                ? "These, and the sources named above:"
                                : "These, the sources named above, and whoever measured what this rests on:");
    rt_report_add_lines(report, citations);
    if (options->notes != NULL)
        rt_report_add_markdown(report, options->notes);
    free(citations);
}
