/* A locale with a decimal comma, made by localedef (of the C library) where the system has none. */
#pragma once

#include "test.h"

#include <locale.h>

/* Sets it for the whole program. False, and the test counts as skipped, where there is no localedef. */
static inline bool rt_test_comma_locale(void)
{
    char command[1400], text[16];
    const char *source = rt_test_write("comma.txt", "comment_char %\nescape_char /\nLC_NUMERIC\n"
                                                    "decimal_point \",\"\nthousands_sep \"\"\ngrouping -1\n"
                                                    "END LC_NUMERIC\n");
    snprintf(command, sizeof command,
             "localedef -c --no-archive -i '%s' -f ANSI_X3.4-1968 '%s' >/dev/null 2>&1; test -d '%s'", source,
             rt_test_path("comma"), rt_test_path("comma"));
    bool made = system(command) == 0;
    setenv("LOCPATH", rt_test_folder(), 1);
    if (made && setlocale(LC_ALL, "comma") != NULL) {
        snprintf(text, sizeof text, "%.1f", 1.5);
        if (strcmp(text, "1,5") == 0)
            return true;
    }
    setlocale(LC_ALL, "C");
    snprintf(rt_test_skipped, sizeof rt_test_skipped, "localedef makes no locale with a decimal comma here");
    return false;
}
