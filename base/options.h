/* What command lines have in common: lists of names, numbers within a range. */
#ifndef ROOFTILE_BASE_OPTIONS_H
#define ROOFTILE_BASE_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

/* Texts of the command line, in their order: borrowed. An empty list is {0}. */
struct rt_names {
    const char **name;
    size_t count;
};
void rt_names_add(struct rt_names *names, const char *name);
void rt_names_release(struct rt_names *names);

/* The number an option was given; RT_EUSAGE "--threads 0: must be a whole number from 1 to 256". */
int rt_argument_integer(const char *option, const char *text, int64_t least, int64_t most, int64_t *value);
int rt_argument_real(const char *option, const char *text, double least, double most, double *value);

/* The number of the name that an option was given; RT_EUSAGE "--mode fast: choose inference, decode or
 * training". */
int rt_argument_choice(const char *option, const char *text, const char *const *names, int count, int *value);

#endif
