/* Text in HTML and SVG: what names and numbers hold is text there, never markup. */
#ifndef ROOFTILE_BASE_HTML_H
#define ROOFTILE_BASE_HTML_H

#include <stdio.h>

/* Prints text, also between double quotes of an attribute: & < > " ' as entities, control characters and what
 * is no UTF-8 as in printable.h; line ends stay. */
void rt_html_text(const char *text, FILE *file);

#endif
