/*
 * Texts that come from files and command lines, as a terminal may print them: a name may hold control
 * characters, which move the cursor, hide what stands before them or set a window's title. Sentences, tables,
 * reports and progress lines print them through this; JSON and CSV of datasets keep names as they are, JSON
 * as escapes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Copies `text` to out (size; NULL and 0: to learn the length), as snprintf does: cut where it is too long,
 * always NUL-terminated, and returns the length that all of it takes. Control characters (C0, DEL, C1, and
 * those of Unicode that turn the direction of text) and bytes that are no UTF-8 become \xNN and \uNNNN.
 * `lines`: line ends stay. */
size_t rt_printable(char *out, size_t size, const char *text, bool lines);

/* Is all of it UTF-8? Only such texts go into HDF5 and JSON files. */
bool rt_is_utf8(const char *text);

/* The length of the UTF-8 character at `text`, 0 where there is none, and its code. */
size_t rt_utf8(const char *text, unsigned *code);

/* Is the character one that a terminal acts on instead of showing it? */
bool rt_is_control(unsigned code);
