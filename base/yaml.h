/* Writing YAML: the front matter of a Markdown page. Values are JSON's, which YAML 1.2 holds; names that come
 * from files are quoted so that no reader of YAML 1.1 or 1.2 takes them for anything but a text. */
#pragma once

#include <jansson.h>

/* The object as a block of lines, members in their order. Integers as they are, reals with up to 6 decimals.
 * Free with free(). */
char *rt_yaml_text(const json_t *object);
