/*
 * The commands of the program, a row each: each is at the end of its cmd_NAME.c. The program runs all of
 * them, librooftile those that print a report and need no process of their own (`in_library`).
 */
#pragma once

#include "base/options.h"

extern const struct rt_command rt_program;
