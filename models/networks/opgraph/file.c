/* Cells of operator graphs to calls, lines to rows in the order of execution. See opgraph.h. */
#include "models/networks/opgraph/opgraph.h"
#include "base/array.h"
#include "base/csv.h"
#include "base/status.h"
#include "base/text.h"
#include "models/networks/opgraph/python_literal.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- names --- */

/* Takes a number of at most ten digits, 1 or more, off the front of *at. */
static bool take_number(const char **at, int64_t *out)
{
    size_t digits = 0;
    while (isdigit((unsigned char)(*at)[digits]))
        digits++;
    if (digits == 0 || digits > 10 || rt_parse_integer(*at, digits, out) != 0 || *out < 1)
        return false;
    *at += digits;
    return true;
}

static bool take_text(const char **at, const char *text)
{
    size_t length = strlen(text);
    if (strncmp(*at, text, length) != 0)
        return false;
    *at += length;
    return true;
}

/* "-fusion", "-dp4", "-tp4", "-pp4_1" or nothing */
static bool take_option(const char **at, struct rt_opgraph_name *out)
{
    if (take_text(at, "-fusion"))
        return out->fusion = true;
    if (take_text(at, "-dp"))
        return take_number(at, &out->parallel.data);
    if (take_text(at, "-tp"))
        return take_number(at, &out->parallel.tensor);
    if (take_text(at, "-pp"))
        return take_number(at, &out->parallel.pipeline) && take_text(at, "_") &&
               take_number(at, &out->parallel.microbatches);
    return true;
}

bool rt_opgraph_name(const char *path, struct rt_opgraph_name *out)
{
    static const struct {
        const char *text;
        enum rt_step_kind step;
    } modes[] = {{"-inf-", RT_STEP_PREFILL}, {"-train-", RT_STEP_TRAINING}};
    const char *slash = strrchr(path, '/'), *start = slash != NULL ? slash + 1 : path;
    struct rt_opgraph_name name = {.parallel = RT_PARALLELISM_NONE};
    const char *at = NULL;
    for (size_t i = 0; at == NULL && i < 2; i++) {
        at = strstr(start, modes[i].text);
        name.step = modes[i].step;
    }
    if (at == NULL || at == start || (size_t)(at - start) >= sizeof name.model)
        return false;
    memcpy(name.model, start, (size_t)(at - start));
    at += name.step == RT_STEP_TRAINING ? strlen("-train-") : strlen("-inf-");
    bool fits = take_number(&at, &name.sequence) && take_text(&at, "-") && take_number(&at, &name.batch) &&
                take_option(&at, &name) && (*at == '\0' || strcasecmp(at, ".csv") == 0);
    if (fits)
        *out = name;
    return fits;
}

/* --- cells: calls and shapes --- */

#define MOST ((int64_t)1 << 40) /* of a dim, as rt_op_check has it */

/* Elements of the shape at `shape`, "(4, 1024)"; () is one number, and a dim may be 0. */
static int read_shape(const struct rt_python_literal *values, uint32_t shape, double *out)
{
    double elements = 1;
    if (values[shape].kind != RT_PYTHON_LIST)
        return rt_fail(RT_EFORMAT, "a shape is a tuple of whole numbers");
    for (uint32_t i = shape + 1; i < values[shape].end; i = values[i].end) {
        if (values[i].kind != RT_PYTHON_INTEGER)
            return rt_fail(RT_EFORMAT, "a shape is a tuple of whole numbers");
        if (values[i].integer < 0 || values[i].integer > MOST)
            return rt_fail(RT_EFORMAT, "a dim is %" PRId64 "; it must lie in 0..2^40", values[i].integer);
        elements *= (double)values[i].integer;
    }
    if (elements > 0x1p53)
        return rt_fail(RT_EFORMAT, "a shape has %g elements; more than 2^53 are not read", elements);
    *out = elements;
    return RT_OK;
}

/* The `count` whole numbers of an op's arguments. */
static int numbers(const struct rt_python_literal *values, uint32_t list, uint32_t count, int64_t *out)
{
    uint32_t n = 0;
    if (values[list].kind != RT_PYTHON_LIST || values[list].count != count)
        return rt_fail(RT_EFORMAT, "the op takes %" PRIu32 " whole numbers in brackets", count);
    for (uint32_t i = list + 1; i < values[list].end; i = values[i].end) {
        if (values[i].kind != RT_PYTHON_INTEGER)
            return rt_fail(RT_EFORMAT, "the op takes %" PRIu32 " whole numbers in brackets", count);
        out[n++] = values[i].integer;
    }
    return RT_OK;
}

/* --- forms of ops --- */

struct cell {
    const struct rt_python_literal *values;
    uint32_t arguments;
    enum rt_dtype dtype;
    int64_t gpus;
};

static void set_call(struct rt_opgraph_call *out, const struct cell *cell, enum rt_op_id op,
                     const int64_t *dim)
{
    *out = (struct rt_opgraph_call){0};
    rt_call_init(&out->call, op, cell->dtype);
    memcpy(out->call.dim, dim, (size_t)rt_op_graph_dims(op) * sizeof *dim);
}

/* y(rows, out) = x(rows, in) W(in, out): "(rows, in, out)" */
static int read_linear(const struct cell *cell, struct rt_opgraph_call *out)
{
    int64_t n[3] = {0};
    int status = numbers(cell->values, cell->arguments, 3, n);
    set_call(out, cell, RT_OP_LINEAR, (const int64_t[]){1, n[0], n[2], n[1]});
    return status;
}

/* "(B, M, N, K)": B products (M, N) (N, K) */
static int read_bmm(const struct cell *cell, struct rt_opgraph_call *out)
{
    int64_t n[4] = {0};
    int status = numbers(cell->values, cell->arguments, 4, n);
    set_call(out, cell, RT_OP_BMM, (const int64_t[]){n[0], n[1], n[3], n[2]});
    return status;
}

/* Shapes that are read and written, each once. */
static int read_memory(const struct cell *cell, struct rt_opgraph_call *out)
{
    const struct rt_python_literal *values = cell->values, *shapes = &values[cell->arguments];
    double sum = 0, largest = 0, elements = 0;
    if (shapes->kind != RT_PYTHON_LIST || shapes->count == 0)
        return rt_fail(RT_EFORMAT, "MEM takes a tuple of shapes");
    for (uint32_t i = cell->arguments + 1; i < shapes->end; i = values[i].end) {
        int status = read_shape(values, i, &elements);
        if (status != RT_OK)
            return status;
        sum += elements;
        largest = fmax(largest, elements);
    }
    if (sum > (double)MOST)
        return rt_fail(RT_EFORMAT, "MEM moves %g elements; more than 2^40 are not read", sum);
    set_call(out, cell, RT_OP_COPY, (const int64_t[]){1, largest > 1 ? (int64_t)sum : 0});
    out->bytes = sum * rt_dtypes[cell->dtype].bytes;
    if (shapes->count == 1 && values[cell->arguments + 1].count == 2)
        out->table = (int64_t)sum;
    return RT_OK;
}

static int read_all_reduce(const struct cell *cell, struct rt_opgraph_call *out)
{
    int64_t elements = 0;
    int status = numbers(cell->values, cell->arguments, 1, &elements);
    if (status == RT_OK && cell->gpus < 2)
        return rt_fail(RT_EFORMAT, "an all-reduce among an unknown number of GPUs; name the file "
                                   "MODEL-train-SEQUENCE-BATCH-dpN.csv or ...-tpN.csv");
    set_call(out, cell, RT_OP_ALL_REDUCE, (const int64_t[]){cell->gpus, elements});
    return status;
}

static int read_async_all_reduce(const struct cell *cell, struct rt_opgraph_call *out)
{
    int status = read_all_reduce(cell, out);
    out->overlaps = true;
    return status;
}

static int read_send_receive(const struct cell *cell, struct rt_opgraph_call *out)
{
    int64_t elements = 0;
    int status = numbers(cell->values, cell->arguments, 1, &elements);
    set_call(out, cell, RT_OP_SEND_RECEIVE, (const int64_t[]){2, elements});
    return status;
}

static int read_vector(const struct cell *cell, enum rt_op_id op, struct rt_opgraph_call *out)
{
    int64_t n[2] = {0};
    int status = numbers(cell->values, cell->arguments, 2, n);
    set_call(out, cell, op, n);
    return status;
}

static const struct form {
    const char *name;
    int (*read)(const struct cell *cell, struct rt_opgraph_call *out);
} forms[] = {
    {"Linear", read_linear},
    {"BMM", read_bmm},
    {"MEM", read_memory},
    {"ALLREDUCE", read_all_reduce},
    {"ALLREDUCE_ASYNC", read_async_all_reduce},
    {"SENDRECV", read_send_receive},
};

/* --- which op --- */

bool rt_opgraph_vector(enum rt_op_id op)
{
    return rt_ops[op].neusight != NULL && rt_family_vector(rt_ops[op].family);
}

static bool equals(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

static int unknown_op(const struct rt_python_literal *name)
{
    struct rt_text known = {0};
    for (size_t i = 0; i < RT_COUNT(forms); i++)
        rt_text_item(&known, ", ", "%s", forms[i].name);
    for (int op = 0; op < RT_OP_COUNT; op++)
        if (rt_opgraph_vector(op))
            rt_text_item(&known, ", ", "VEC%s", rt_ops[op].neusight);
    int status = rt_fail(RT_EFORMAT, "there is no op \"%.*s\"; known are %s",
                         name->length > 40 ? 40 : (int)name->length, name->text, known.text);
    rt_text_release(&known);
    return status;
}

/* The op at `at` of a cell, "('Linear', (4096, 1280, 3840))". `gpus`: those of an all-reduce, < 2: unknown. A
 * MEM of single numbers has dim[1] = 0. RT_EFORMAT says what is wrong with the cell. */
static int read_call(const struct rt_python_literal *values, uint32_t at, enum rt_dtype dtype, int64_t gpus,
                     struct rt_opgraph_call *out)
{
    const struct rt_python_literal *name = &values[at + 1];
    struct cell cell = {values, at + 2, dtype, gpus};
    if (values[at].kind != RT_PYTHON_LIST || values[at].count != 2 || name->kind != RT_PYTHON_TEXT)
        return rt_fail(RT_EFORMAT, "an op is written ['NAME', (numbers)]");
    for (size_t i = 0; i < RT_COUNT(forms); i++)
        if (equals(name->text, name->length, forms[i].name))
            return forms[i].read(&cell, out);
    if (name->length > 3 && memcmp(name->text, "VEC", 3) == 0)
        for (int op = 0; op < RT_OP_COUNT; op++)
            if (rt_opgraph_vector(op) && equals(name->text + 3, name->length - 3, rt_ops[op].neusight))
                return read_vector(&cell, (enum rt_op_id)op, out);
    return unknown_op(name);
}

/* --- lines --- */

#define ROW_LIMIT ((size_t)1 << 20)

enum column { NAME, KIND, FORWARD, BACKWARD, ACCUMULATE, PREVIOUS, INPUTS, OUTPUT, COLUMNS };
static const char *const column_names[COLUMNS] = {"Name",   "OpName", "FwOps",       "BwOps",
                                                  "AccOps", "Prev",   "InputShapes", "OutputShape"};

/* The file while its lines are read. */
struct reader {
    struct rt_csv *csv;
    int column[COLUMNS];
    struct rt_python_literals literals; /* of the cell that is read */
    struct rt_opgraph *file;
};

void rt_opgraph_release(struct rt_opgraph *file)
{
    rt_strings_release(&file->names);
    free(file->rows);
    free(file->calls);
    free(file->previous);
    free(file->row_of);
    free(file->order);
}

const char *rt_opgraph_row_name(const struct rt_opgraph *file, const struct rt_opgraph_row *row)
{
    return rt_strings_get(&file->names, row->name);
}

const struct rt_opgraph_call *rt_opgraph_first_call(const struct rt_opgraph *file,
                                                    const struct rt_opgraph_row *row, enum rt_phase phase)
{
    for (size_t c = row->call; c < row->call + row->call_count; c++)
        if (file->calls[c].call.phase == phase)
            return &file->calls[c];
    return NULL;
}

/* --- a line --- */

static int parse_cell(struct reader *reader, const struct rt_csv_field *fields, enum column column)
{
    const struct rt_csv_field *field = &fields[reader->column[column]];
    if (field->length == 0)
        return rt_fail(RT_EFORMAT, "the cell is empty; write [] where there is nothing");
    int status = rt_python_literal_parse(field->text, field->length, &reader->literals);
    if (status == RT_OK && reader->literals.value[0].kind != RT_PYTHON_LIST)
        return rt_fail(RT_EFORMAT, "a list, tuple or set must stand here");
    return status;
}

static int read_name(struct reader *reader, const struct rt_csv_field *fields, enum column column,
                     struct rt_opgraph_row *row)
{
    const struct rt_csv_field *name = &fields[reader->column[column]];
    if (name->length == 0)
        return rt_fail(RT_EFORMAT, "the row has no name");
    row->name = rt_strings_add(&reader->file->names, name->text, name->length);
    return RT_OK;
}

static int read_kind(struct reader *reader, const struct rt_csv_field *fields, enum column column,
                     struct rt_opgraph_row *row)
{
    const char *kind = fields[reader->column[column]].text;
    row->fused = strcmp(kind, "fused") == 0;
    row->embedding = strcmp(kind, "EMBEDDING") == 0;
    row->dropout = strcmp(kind, "dropout") == 0;
    reader->file->any_fused |= row->fused;
    return RT_OK;
}

static int read_calls(struct reader *reader, const struct rt_csv_field *fields, enum column column,
                      struct rt_opgraph_row *row)
{
    struct rt_opgraph *file = reader->file;
    int64_t gpus = file->name.parallel.data * file->name.parallel.tensor;
    int status = parse_cell(reader, fields, column);
    if (status != RT_OK)
        return status;
    const struct rt_python_literal *values = reader->literals.value;
    for (uint32_t i = 1; i < values[0].end; i = values[i].end) {
        struct rt_opgraph_call call;
        if ((status = read_call(values, i, file->dtype, gpus, &call)) != RT_OK)
            return status;
        if (call.call.op == RT_OP_COPY && call.call.dim[1] == 0)
            continue; /* a single number, which the host knows */
        if ((status = rt_op_check(call.call.op, call.call.dim)) != RT_OK)
            return status;
        call.call.phase = (uint8_t)(RT_FORWARD + (column - FORWARD));
        file->any_backward |= call.call.phase == RT_BACKWARD;
        RT_GROW(file->calls, file->call_count, 1, file->call_capacity);
        file->calls[file->call_count++] = call;
        row->call_count++;
    }
    return RT_OK;
}

/* Names for now; resolve() turns them into rows. */
static int read_previous(struct reader *reader, const struct rt_csv_field *fields, enum column column,
                         struct rt_opgraph_row *row)
{
    struct rt_opgraph *file = reader->file;
    int status = parse_cell(reader, fields, column);
    if (status != RT_OK)
        return status;
    const struct rt_python_literal *values = reader->literals.value;
    for (uint32_t i = 1; i < values[0].end; i = values[i].end) {
        if (values[i].kind != RT_PYTHON_TEXT || values[i].length == 0)
            return rt_fail(RT_EFORMAT, "a set of names must stand here");
        RT_GROW(file->previous, file->previous_count, 1, file->previous_capacity);
        file->previous[file->previous_count++] =
            rt_strings_add(&file->names, values[i].text, values[i].length);
        row->previous_count++;
    }
    return RT_OK;
}

static int read_inputs(struct reader *reader, const struct rt_csv_field *fields, enum column column,
                       struct rt_opgraph_row *row)
{
    int status = parse_cell(reader, fields, column);
    if (status != RT_OK)
        return status;
    const struct rt_python_literal *values = reader->literals.value;
    for (uint32_t i = 1; i < values[0].end; i = values[i].end) {
        double elements = 0;
        if ((status = read_shape(values, i, &elements)) != RT_OK)
            return status;
        row->inputs += elements;
    }
    return RT_OK;
}

static int read_output(struct reader *reader, const struct rt_csv_field *fields, enum column column,
                       struct rt_opgraph_row *row)
{
    int status = parse_cell(reader, fields, column);
    const struct rt_python_literal *values = reader->literals.value;
    if (status != RT_OK || (status = read_shape(values, 0, &row->outputs)) != RT_OK)
        return status;
    if (reader->file->row_count == 0 && values[0].count == 2 && row->outputs > 0) {
        reader->file->shape[0] = values[1].integer;
        reader->file->shape[1] = values[2].integer;
    }
    return RT_OK;
}

/* Bytes of the vector ops, as the paper's artifact prices them: those of the row, per element. */
static void price_row(struct rt_opgraph *file, const struct rt_opgraph_row *row)
{
    double moved = row->inputs + row->outputs;
    size_t count[RT_PHASE_COUNT] = {0};
    for (size_t c = row->call; c < row->call + row->call_count; c++)
        count[file->calls[c].call.phase]++;
    for (size_t c = row->call; c < row->call + row->call_count; c++) {
        struct rt_opgraph_call *priced = &file->calls[c];
        const struct rt_call *call = &priced->call;
        bool vector = rt_opgraph_vector(call->op);
        if (vector && row->outputs > 0)
            priced->bytes =
                file->width * moved / row->outputs * ((double)call->dim[0] * (double)call->dim[1]);
        if (row->fused && count[call->phase] == 1 && (vector || call->op == RT_OP_COPY))
            priced->bytes = file->width * moved;
    }
}

/* Reads what a cell holds into the row. Columns stand in the order of enum column. */
typedef int cell_reader(struct reader *reader, const struct rt_csv_field *fields, enum column column,
                        struct rt_opgraph_row *row);

static int read_row(struct reader *reader, const struct rt_csv_field *fields)
{
    static cell_reader *const readers[COLUMNS] = {read_name,  read_kind,     read_calls,  read_calls,
                                                  read_calls, read_previous, read_inputs, read_output};
    struct rt_opgraph *file = reader->file;
    struct rt_opgraph_row row = {
        .line = rt_csv_line(reader->csv), .call = file->call_count, .previous = file->previous_count};
    for (int c = 0; c < COLUMNS; c++) {
        int status = readers[c](reader, fields, (enum column)c, &row);
        if (status != RT_OK)
            return rt_fail_context(status, "%s:%zu: %s", file->path, row.line, column_names[c]);
    }
    price_row(file, &row);
    RT_GROW(file->rows, file->row_count, 1, file->row_capacity);
    file->rows[file->row_count++] = row;
    return RT_OK;
}

static int find_columns(struct reader *reader)
{
    for (int c = 0; c < COLUMNS; c++)
        if ((reader->column[c] = rt_csv_find(reader->csv, column_names[c])) < 0)
            return rt_fail(RT_EFORMAT,
                           "%s:1: there is no column \"%s\"; NeuSight's operator graphs have Name, OpName, "
                           "FwOps, BwOps, AccOps, Prev, InputShapes and OutputShape",
                           reader->file->path, column_names[c]);
    return RT_OK;
}

static int read_lines(struct reader *reader)
{
    struct rt_opgraph *file = reader->file;
    const struct rt_csv_field *fields = NULL;
    int status = rt_csv_open(file->path, &reader->csv), next = RT_CSV_END;
    if (status == RT_OK)
        status = find_columns(reader);
    while (status == RT_OK && (next = rt_csv_next(reader->csv, &fields)) == RT_CSV_ROW) {
        if (file->row_count == ROW_LIMIT)
            return rt_fail(RT_EFORMAT, "%s:%zu: more than a million operators are not read", file->path,
                           rt_csv_line(reader->csv));
        status = read_row(reader, fields);
    }
    if (status == RT_OK && next != RT_CSV_END)
        return next < 0 ? next : RT_EFORMAT;
    if (status == RT_OK && file->call_count == 0)
        return rt_fail(RT_EFORMAT, "%s: holds no ops", file->path);
    return status;
}

/* --- what reads what --- */

/* Turns the names in file->previous into rows. */
static int resolve(struct rt_opgraph *file)
{
    file->row_of = rt_malloc((file->names.count + 1) * sizeof *file->row_of);
    for (size_t i = 0; i < file->names.count; i++)
        file->row_of[i] = -1;
    for (size_t r = 0; r < file->row_count; r++) {
        int32_t *row = &file->row_of[file->rows[r].name];
        if (*row >= 0)
            return rt_fail(RT_EFORMAT, "%s:%zu: Name: \"%.100s\" is the name of line %zu too", file->path,
                           file->rows[r].line, rt_opgraph_row_name(file, &file->rows[r]),
                           file->rows[*row].line);
        *row = (int32_t)r;
    }
    for (size_t r = 0; r < file->row_count; r++)
        for (size_t p = 0; p < file->rows[r].previous_count; p++) {
            int32_t *name = &file->previous[file->rows[r].previous + p];
            if (file->row_of[*name] < 0)
                return rt_fail(RT_EFORMAT, "%s:%zu: Prev: no row has the name \"%.100s\"", file->path,
                               file->rows[r].line, rt_strings_get(&file->names, *name));
            *name = file->row_of[*name];
            file->rows[*name].read = true;
        }
    return RT_OK;
}

/* Sets file->order: each row behind those that it reads, otherwise as in the file. (Published fused graphs
 * have a chain where it begins, before rows that it reads.) Depth first, without recursion. */
static int sort_rows(struct rt_opgraph *file)
{
    size_t *at = rt_calloc(file->row_count, sizeof *at); /* inputs of a row visited so far */
    uint32_t *stack = rt_malloc(file->row_count * sizeof *stack);
    bool *open = rt_calloc(file->row_count, sizeof *open), *done = rt_calloc(file->row_count, sizeof *done);
    size_t count = 0, depth = 0;
    int status = RT_OK;
    file->order = rt_malloc(file->row_count * sizeof *file->order);
    for (uint32_t r = 0; status == RT_OK && r < file->row_count; r++) {
        if (!done[r])
            stack[depth++] = r;
        while (status == RT_OK && depth > 0) {
            uint32_t top = stack[depth - 1];
            const struct rt_opgraph_row *row = &file->rows[top];
            open[top] = true;
            if (at[top] == row->previous_count) {
                file->order[count++] = top;
                done[top] = true;
                open[top] = false;
                depth--;
                continue;
            }
            uint32_t from = (uint32_t)file->previous[row->previous + at[top]++];
            if (open[from])
                status =
                    rt_fail(RT_EFORMAT, "%s:%zu: Prev: \"%.100s\" reads, by way of others, its own output",
                            file->path, row->line, rt_opgraph_row_name(file, row));
            else if (!done[from])
                stack[depth++] = from;
        }
    }
    free(at);
    free(stack);
    free(open);
    free(done);
    return status;
}

int64_t rt_opgraph_place(const struct rt_opgraph *file, const char *name)
{
    int32_t text = rt_strings_find(&file->names, name, strlen(name));
    int32_t row = text >= 0 ? file->row_of[text] : -1;
    for (size_t i = 0; row >= 0 && i < file->row_count; i++)
        if (file->order[i] == (uint32_t)row)
            return (int64_t)i;
    return -1;
}

int rt_opgraph_read(const char *path, enum rt_dtype dtype, struct rt_opgraph *out)
{
    *out = (struct rt_opgraph){.path = path, .dtype = dtype, .width = rt_dtypes[dtype].bytes};
    out->name.parallel = (struct rt_parallelism)RT_PARALLELISM_NONE;
    out->named = rt_opgraph_name(path, &out->name);
    struct reader reader = {.file = out};
    int status = read_lines(&reader);
    rt_csv_close(reader.csv);
    free(reader.literals.value);
    if (status == RT_OK)
        status = resolve(out);
    return status == RT_OK ? sort_rows(out) : status;
}
