/*
 * Numbers and letters are those of the C locale, whatever a program that uses rooftile as a library has set:
 * under a locale with a decimal comma, files would be written that no reader reads. The locale is the calling
 * thread's while the scope lasts, and costs nanoseconds.
 *
 *     RT_C_LOCALE;  // at the head of a function: until it returns
 */
#pragma once

#include <locale.h>

locale_t rt_c_locale(void);     /* made on the first call, never freed */
locale_t rt_locale_enter(void); /* what the thread had before */
void rt_locale_leave(const locale_t *before);

#define RT_C_LOCALE                                                                                          \
    __attribute__((cleanup(rt_locale_leave), unused)) const locale_t rt_locale_before = rt_locale_enter()
