/*
 * What the terminal behind a stream can do. A file, a pipe and a device that is no terminal can do nothing:
 * what is written there is the same everywhere, whatever the environment says.
 *
 *     struct rt_terminal terminal = rt_terminal_of(stdout);
 *     fprintf(stdout, "%s%s%s\n", rt_terminal_style(&terminal, RT_STYLE_BOLD), title,
 *             rt_terminal_style(&terminal, RT_STYLE_NONE));
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* {0}: no terminal. */
struct rt_terminal {
    bool controls;     /* it moves its cursor: a terminal, and TERM is neither unset nor "dumb" */
    bool colour;       /* the same, and NO_COLOR is unset or empty (no-color.org) */
    int columns, rows; /* COLUMNS and LINES, or what the kernel says; 0: not known */
};

struct rt_terminal rt_terminal_of(FILE *file);

/* `width`, or the terminal's where that is narrower; never below 20. */
int rt_terminal_width(const struct rt_terminal *terminal, int width);

enum rt_style { RT_STYLE_NONE, RT_STYLE_BOLD, RT_STYLE_DIM, RT_STYLE_YELLOW, RT_STYLE_RED };

/* What begins the style, RT_STYLE_NONE ends all; "" where there is no colour. */
const char *rt_terminal_style(const struct rt_terminal *terminal, enum rt_style style);
