/* Texts that are longer than the terminal go through a pager. */
#pragma once

#include "base/terminal.h"

/* Prints the text on standard output, whose terminal is given; by a pager where it is longer than the screen.
 * The pager is $ROOFTILE_PAGER, else $PAGER, else `less -FRX`; "" and "cat" are none, and neither is one that
 * does not start. One that is closed early is no error. */
void rt_pager_print(const char *text, const struct rt_terminal *terminal);

/* No pager from now on: --no-pager. */
void rt_pager_off(void);
