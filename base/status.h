/*
 * base/: what every room uses and nothing about GPUs. In reading order:
 *
 *     status        return codes, the error sentence, allocation
 *     array, units  arrays that grow; bytes in a GiB
 *     locale        numbers are C's
 *     printable     no control characters on a terminal
 *     text          a text that grows
 *     strings       distinct strings by index, near names, text to number
 *     hash_set      finding equal elements of an array
 *     sort          sorting and medians
 *     random        the same random numbers on every machine
 *     options       a command is rows: command lines, --help; option_values: how each kind is read
 *     table         rows of results
 *     report        tables, facts and notes as text, JSON, CSV, Markdown and HTML
 *     plot          pictures of a page
 *     file          whole files, atomically; target, temporary and outputs: onto what, and by which name
 *     csv           CSV row by row
 *     h5            HDF5 files; h5_arrays and h5_attributes: what is in them; h5_chunks: compression in threads
 *     h5_struct     structs as attributes
 *     threads       one pool of threads
 *     progress      progress lines, Ctrl-C, clocks
 *
 * This header: every function that can fail returns RT_OK (0) or a negative rt_status and leaves one sentence
 * that names the file, the place in it, what is wrong and what to do. Only main() prints it.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

enum rt_status {
    RT_OK = 0,
    RT_EIO = -1,          /* the operating system refused: open, read, write, rename, disk full */
    RT_EFORMAT = -2,      /* the content of a file is not what its format says */
    RT_EVERSION = -3,     /* a file of a version this build does not read */
    RT_EUSAGE = -4,       /* the caller asked for something that cannot be: exit status 2 */
    RT_ENOTFOUND = -5,    /* a name that nothing has: GPU, op, family */
    RT_EINTERRUPTED = -6, /* Ctrl-C or SIGTERM; what was saved is usable: exit status 130, as shells have it */
    RT_ENOFIT = -7,       /* it does not fit into the memory, and whoever asked wants that to fail: exit status 3 */
};

/* Keeps the sentence for rt_error(), control characters of names escaped (printable.h), and returns `status`,
 * so that callers write `return rt_fail(...)`. */
int rt_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

/* Formats of sentences, notes and warnings name a field of a request in braces: "{kv_cache} fp4: ...". Readers see
 * kv_cache, as C and Python call it; the program calls rt_error_names_options(true) and so says --kv-cache. */
void rt_error_names_options(bool options);
/* The same of a name that is not in the format: rt_field_words("kv_cache").text. */
struct rt_field_words {
    char text[48];
};
struct rt_field_words rt_field_words(const char *field);

/* Puts "context: " before the sentence that is kept; returns `status` unchanged. */
int rt_fail_context(int status, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

/* Puts "; remedy", the command to type next, behind the sentence unless it names one already (in backticks).
 */
int rt_fail_remedy(int status, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

/* The sentence of this thread's last failure, "" for none. */
const char *rt_error(void);

/* Exit status of the program for a status: 0 done, 2 bad usage, 3 and 130 as above, 1 everything else. */
int rt_exit_status(int status);

/* A line on stderr, "rooftile: warning: ..." or "rooftile: note: ...": how something asked for was read. */
void rt_note(const char *format, ...) __attribute__((format(printf, 1, 2), cold));
void rt_warn(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

/* malloc, calloc, realloc, strdup and printf that end the program where memory runs out: sizes from files are
 * checked against the size of the file before. Free with free(). */
void *rt_malloc(size_t size) __attribute__((malloc, returns_nonnull));
void *rt_calloc(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
void *rt_realloc(void *block, size_t count, size_t size) __attribute__((returns_nonnull));
char *rt_strdup(const char *text) __attribute__((malloc, returns_nonnull));
char *rt_vformat(const char *format, va_list arguments)
    __attribute__((format(printf, 1, 0), malloc, returns_nonnull));
char *rt_format(const char *format, ...) __attribute__((format(printf, 1, 2), malloc, returns_nonnull));
/* The same of a sentence that names fields of a request, as rt_fail's do, and is put into another. */
char *rt_sentence(const char *format, ...) __attribute__((format(printf, 1, 2), malloc, returns_nonnull));

#define RT_COUNT(array) (sizeof(array) / sizeof((array)[0]))
