/* Escaping. See html.h. */
#include "base/html.h"
#include "base/text.h"

#include <stdlib.h>

void rt_html_text(const char *text, FILE *file)
{
    char *printable = rt_text_printable(text, true);
    for (const char *at = printable; *at != '\0'; at++)
        switch (*at) {
        case '&':
            fputs("&amp;", file);
            break;
        case '<':
            fputs("&lt;", file);
            break;
        case '>':
            fputs("&gt;", file);
            break;
        case '"':
            fputs("&quot;", file);
            break;
        case '\'':
            fputs("&#39;", file);
            break;
        default:
            fputc(*at, file);
        }
    free(printable);
}
