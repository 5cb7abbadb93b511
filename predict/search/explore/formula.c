/* Reading formulas by recursive descent, and their values. See formula.h. */
#include "predict/search/explore/formula.h"
#include "base/status.h"
#include "base/strings.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum op { NUMBER, FIELD, NEGATE, ADD, SUBTRACT, MULTIPLY, DIVIDE, POWER, SQRT, LOG, EXP, MIN, MAX };

static const struct function {
    const char *name;
    enum op op;
    int arguments;
} functions[] = {{"sqrt", SQRT, 1}, {"log", LOG, 1}, {"exp", EXP, 1}, {"min", MIN, 2}, {"max", MAX, 2}};

enum { DEPTH = 64 }; /* of parentheses and signs */

struct reader {
    const char *option, *text, *at;
    struct rt_formula *formula;
    int depth, status;
};

static int fail(struct reader *reader, const char *what)
{
    if (reader->status == RT_OK)
        reader->status = rt_fail(RT_EUSAGE, "%s \"%.200s\": at position %zu: %s", reader->option,
                                 reader->text, (size_t)(reader->at - reader->text) + 1, what);
    return reader->status;
}

static char next(struct reader *reader)
{
    while (*reader->at == ' ' || *reader->at == '\t')
        reader->at++;
    return *reader->at;
}

static bool take(struct reader *reader, char letter)
{
    if (next(reader) != letter)
        return false;
    reader->at++;
    return true;
}

static void add(struct reader *reader, struct rt_formula_step step)
{
    if (reader->formula->steps == RT_FORMULA_STEPS)
        fail(reader, "the formula is too long; give a shorter one");
    else if (reader->status == RT_OK)
        reader->formula->step[reader->formula->steps++] = step;
}

static void read_sum(struct reader *reader);

static void read_number(struct reader *reader)
{
    size_t length = strspn(reader->at, "0123456789.");
    double value;
    if (tolower((unsigned char)reader->at[length]) == 'e') {
        size_t sign = reader->at[length + 1] == '-' || reader->at[length + 1] == '+',
               digits = strspn(reader->at + length + 1 + sign, "0123456789");
        length += digits > 0 ? 1 + sign + digits : 0;
    }
    if (rt_parse_real(reader->at, length, &value) != 0) {
        fail(reader, "this is no number");
        return;
    }
    add(reader, (struct rt_formula_step){.op = NUMBER, .number = value});
    reader->at += length;
}

static void read_arguments(struct reader *reader, const struct function *function)
{
    if (!take(reader, '(')) {
        fail(reader, "( is missing behind the function");
        return;
    }
    for (int i = 0; i < function->arguments && reader->status == RT_OK; i++) {
        if (i > 0 && !take(reader, ','))
            fail(reader, "a , is missing: min and max take two values");
        read_sum(reader);
    }
    if (!take(reader, ')'))
        fail(reader, ") is missing");
    add(reader, (struct rt_formula_step){.op = (int)function->op});
}

/* A field or a function. */
static void read_name(struct reader *reader)
{
    size_t length = 0;
    while (isalnum((unsigned char)reader->at[length]) || reader->at[length] == '_')
        length++;
    for (size_t f = 0; f < RT_COUNT(functions); f++)
        if (strlen(functions[f].name) == length && strncmp(functions[f].name, reader->at, length) == 0) {
            reader->at += length;
            read_arguments(reader, &functions[f]);
            return;
        }
    const struct rt_device_field *field = rt_device_field_named(reader->at, length);
    if (field == NULL) {
        char *keys = rt_device_field_keys();
        char *what = rt_format(
            "\"%.*s\" is neither a field nor a function; fields are %s; functions sqrt, log, exp, min, max",
            (int)(length < 40 ? length : 40), reader->at, keys);
        fail(reader, what);
        free(what);
        free(keys);
        return;
    }
    reader->at += length;
    add(reader, (struct rt_formula_step){.op = FIELD, .field = (size_t)(field - rt_device_fields)});
}

static void read_operand(struct reader *reader)
{
    char letter = next(reader);
    if (letter == '(') {
        reader->at++;
        read_sum(reader);
        if (!take(reader, ')'))
            fail(reader, ") is missing");
    } else if (isdigit((unsigned char)letter) || letter == '.') {
        read_number(reader);
    } else if (isalpha((unsigned char)letter) || letter == '_') {
        read_name(reader);
    } else {
        fail(reader, letter == '\0' ? "a value is missing at the end" : "a value is missing here");
    }
}

/* -a, a^b */
static void read_factor(struct reader *reader)
{
    if (++reader->depth > DEPTH)
        fail(reader, "too many parentheses or signs");
    if (reader->status != RT_OK)
        return;
    if (take(reader, '-')) {
        read_factor(reader);
        add(reader, (struct rt_formula_step){.op = NEGATE});
    } else {
        read_operand(reader);
        if (reader->status == RT_OK && take(reader, '^')) {
            read_factor(reader);
            add(reader, (struct rt_formula_step){.op = POWER});
        }
    }
    reader->depth--;
}

static void read_product(struct reader *reader)
{
    read_factor(reader);
    while (reader->status == RT_OK && (next(reader) == '*' || *reader->at == '/')) {
        enum op op = *reader->at++ == '*' ? MULTIPLY : DIVIDE;
        read_factor(reader);
        add(reader, (struct rt_formula_step){.op = (int)op});
    }
}

static void read_sum(struct reader *reader)
{
    read_product(reader);
    while (reader->status == RT_OK && (next(reader) == '+' || *reader->at == '-')) {
        enum op op = *reader->at++ == '+' ? ADD : SUBTRACT;
        read_product(reader);
        add(reader, (struct rt_formula_step){.op = (int)op});
    }
}

int rt_formula_read(const char *option, const char *text, struct rt_formula *out)
{
    struct rt_formula formula = {.text = text};
    struct reader reader = {.option = option, .text = text, .at = text, .formula = &formula};
    read_sum(&reader);
    if (reader.status == RT_OK && next(&reader) != '\0')
        fail(&reader, "an operator is missing here: one of + - * / ^");
    if (reader.status == RT_OK)
        *out = formula;
    return reader.status;
}

static double result(enum op op, double a, double b)
{
    switch (op) {
    case ADD:
        return a + b;
    case SUBTRACT:
        return a - b;
    case MULTIPLY:
        return a * b;
    case DIVIDE:
        return a / b;
    case POWER:
        return pow(a, b);
    case MIN: /* NaN where either is */
        return a < b || isnan(a) ? a : b;
    case MAX:
        return a > b || isnan(a) ? a : b;
    case NEGATE:
        return -b;
    case SQRT:
        return sqrt(b);
    case LOG:
        return log(b);
    case EXP:
        return exp(b);
    default:
        return NAN;
    }
}

double rt_formula_value(const struct rt_formula *formula, const struct rt_device *device)
{
    double stack[RT_FORMULA_STEPS + 1];
    size_t held = 0;
    for (size_t s = 0; s < formula->steps; s++) {
        const struct rt_formula_step *step = &formula->step[s];
        bool two = (step->op >= ADD && step->op <= POWER) || step->op == MIN || step->op == MAX;
        if (step->op == NUMBER)
            stack[held++] = step->number;
        else if (step->op == FIELD)
            stack[held++] = *rt_device_value((struct rt_device *)(uintptr_t)device, step->field);
        else {
            double b = stack[--held], a = two ? stack[--held] : 0;
            stack[held++] = result((enum op)step->op, a, b);
        }
    }
    return held == 1 ? stack[0] : NAN;
}
