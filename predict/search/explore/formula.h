/*
 * Formulas over a device's fields, "0.2*sms+0.01*bandwidth_gbs": numbers, fields (`rooftile devices NAME`
 * shows them), + - * / ^, parentheses, and sqrt, log (natural), exp, min and max. ^ binds closest and to the
 * right, as in -2^2 = -4.
 */
#pragma once

#include "datasets/device.h"

enum { RT_FORMULA_STEPS = 256 }; /* at most; as many values wait for their operator */

struct rt_formula_step {
    int op;       /* of formula.c */
    size_t field; /* of rt_device_fields */
    double number;
};

/* Without steps: none. */
struct rt_formula {
    const char *text; /* borrowed */
    struct rt_formula_step step[RT_FORMULA_STEPS];
    size_t steps; /* in postfix order */
};

/* RT_EUSAGE with the position where it does not parse, from 1. `option` is how it was given, "--cost". */
int rt_formula_read(const char *option, const char *text, struct rt_formula *out);

/* Its value on a device; NaN where the device lacks a field that it names. */
double rt_formula_value(const struct rt_formula *formula, const struct rt_device *device);
