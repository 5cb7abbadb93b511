/* NeuSight's operator graphs. See import.h for what is read how. */
#include "base/csv.h"
#include "base/status.h"
#include "base/strings.h"
#include "models/graph/import/import.h"
#include "models/graph/import/python_literal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROW_LIMIT   ((size_t)1 << 20)
#define LAYER_LIMIT 1000000
#define NONE        UINT32_MAX
#define MOST        ((int64_t)1 << 40) /* of a dim, as rt_op_check has it */

enum column { NAME, KIND, FORWARD, BACKWARD, ACCUMULATE, PREVIOUS, INPUTS, OUTPUT, COLUMNS };
static const char *const column_names[COLUMNS] = {"Name",   "OpName", "FwOps",       "BwOps",
                                                  "AccOps", "Prev",   "InputShapes", "OutputShape"};

/* An op of a cell. */
struct call {
    enum rt_op_id op;
    enum rt_phase phase;
    int64_t dim[RT_MAX_DIMS];
    double bytes;  /* 0: as the op table says */
    int64_t table; /* MEM of one shape with two dims: its elements; else 0 */
    bool overlaps; /* a reduction that need not be waited for */
};

struct row {
    int32_t name;
    size_t line;
    bool fused, embedding, dropout, read; /* read: by another row */
    size_t call, call_count;              /* in file->calls */
    size_t previous, previous_count;      /* in file->previous */
    double inputs, outputs;               /* elements */
    uint32_t node;                        /* whose output stands for this row's, NONE where nothing is read */
};

struct file {
    struct rt_csv *csv;
    const char *path;
    int column[COLUMNS];
    struct rt_strings names; /* of rows and of what they read */
    struct rt_python_literals literals;
    struct row *rows;
    struct call *calls;
    int32_t *previous; /* names; after resolve() numbers of rows */
    int32_t *row_of;   /* (names.count) -1: no row has that name */
    uint32_t *order;   /* (row_count) what is read stands before what reads it */
    size_t row_count, call_count, previous_count, row_capacity, call_capacity, previous_capacity;
    struct rt_opgraph_name facts;
    bool named; /* facts come from the file's name */
    bool any_backward, any_fused;
    int64_t shape[2]; /* of the first row, where it has two dims */
    double width;
};

static void file_release(struct file *file)
{
    rt_csv_close(file->csv);
    rt_strings_release(&file->names);
    free(file->literals.value);
    free(file->rows);
    free(file->calls);
    free(file->previous);
    free(file->row_of);
    free(file->order);
}

/* Room for one more at the end of `array`. */
static void *room(void *array, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return array;
    *capacity = *capacity > 0 ? 2 * *capacity : 256;
    return rt_realloc(array, *capacity, size);
}

static const char *row_name(const struct file *file, const struct row *row)
{
    return rt_strings_get(&file->names, row->name);
}

/* --- cells --- */

static int parse_cell(struct file *file, const struct rt_csv_field *fields, enum column column)
{
    const struct rt_csv_field *field = &fields[file->column[column]];
    if (field->length == 0)
        return rt_fail(RT_EFORMAT, "the cell is empty; write [] where there is nothing");
    int status = rt_python_literal_parse(field->text, field->length, &file->literals);
    if (status == RT_OK && file->literals.value[0].kind != RT_PYTHON_LIST)
        return rt_fail(RT_EFORMAT, "a list, tuple or set must stand here");
    return status;
}

/* Elements of a shape, "(4, 1024)"; () is one number, and a dim may be 0. */
static int shape_elements(const struct file *file, uint32_t shape, double *out)
{
    const struct rt_python_literal *values = file->literals.value;
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
static int numbers(const struct file *file, uint32_t list, uint32_t count, int64_t *out)
{
    const struct rt_python_literal *values = file->literals.value;
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

/* --- ops --- */

/* y(rows, out) = x(rows, in) W(in, out): "(rows, in, out)" */
static int read_linear(const struct file *file, uint32_t arguments, struct call *out)
{
    int64_t n[3] = {0};
    int status = numbers(file, arguments, 3, n);
    *out = (struct call){.op = RT_OP_LINEAR, .dim = {1, n[0], n[2], n[1]}};
    return status;
}

/* "(B, M, N, K)": B products (M, N) (N, K) */
static int read_bmm(const struct file *file, uint32_t arguments, struct call *out)
{
    int64_t n[4] = {0};
    int status = numbers(file, arguments, 4, n);
    *out = (struct call){.op = RT_OP_BMM, .dim = {n[0], n[1], n[3], n[2]}};
    return status;
}

/* Shapes that are read and written, each once. */
static int read_memory(const struct file *file, uint32_t arguments, struct call *out)
{
    const struct rt_python_literal *values = file->literals.value;
    double sum = 0, largest = 0, elements = 0;
    if (values[arguments].kind != RT_PYTHON_LIST || values[arguments].count == 0)
        return rt_fail(RT_EFORMAT, "MEM takes a tuple of shapes");
    for (uint32_t i = arguments + 1; i < values[arguments].end; i = values[i].end) {
        int status = shape_elements(file, i, &elements);
        if (status != RT_OK)
            return status;
        sum += elements;
        largest = fmax(largest, elements);
    }
    if (sum > (double)MOST)
        return rt_fail(RT_EFORMAT, "MEM moves %g elements; more than 2^40 are not read", sum);
    *out = (struct call){.op = RT_OP_COPY, .dim = {1, largest > 1 ? (int64_t)sum : 0}};
    out->bytes = sum * file->width;
    if (values[arguments].count == 1 && values[arguments + 1].count == 2)
        out->table = (int64_t)sum;
    return RT_OK;
}

static int read_all_reduce(const struct file *file, uint32_t arguments, struct call *out)
{
    int64_t elements = 0, gpus = file->facts.data_parallel * file->facts.tensor_parallel;
    int status = numbers(file, arguments, 1, &elements);
    if (status == RT_OK && gpus < 2)
        return rt_fail(RT_EFORMAT, "an all-reduce, and nothing tells among how many GPUs; name the file "
                                   "MODEL-train-SEQUENCE-BATCH-dpN.csv or ...-tpN.csv");
    *out = (struct call){.op = RT_OP_ALL_REDUCE, .dim = {gpus, elements}};
    return status;
}

static int read_async_all_reduce(const struct file *file, uint32_t arguments, struct call *out)
{
    int status = read_all_reduce(file, arguments, out);
    out->overlaps = true;
    return status;
}

static int read_send_receive(const struct file *file, uint32_t arguments, struct call *out)
{
    int64_t elements = 0;
    int status = numbers(file, arguments, 1, &elements);
    *out = (struct call){.op = RT_OP_SEND_RECEIVE, .dim = {2, elements}};
    return status;
}

static const struct form {
    const char *name;
    int (*read)(const struct file *file, uint32_t arguments, struct call *out);
} forms[] = {
    {"Linear", read_linear},
    {"BMM", read_bmm},
    {"MEM", read_memory},
    {"ALLREDUCE", read_all_reduce},
    {"ALLREDUCE_ASYNC", read_async_all_reduce},
    {"SENDRECV", read_send_receive},
};

static bool is_vector(enum rt_op_id op)
{
    return rt_ops[op].neusight != NULL && rt_family_vector(rt_ops[op].family);
}

static bool equals(const struct rt_python_literal *text, const char *word)
{
    return strlen(word) == text->length && memcmp(text->text, word, text->length) == 0;
}

static int unknown_op(const struct rt_python_literal *name)
{
    char known[512];
    size_t length = 0;
    for (size_t i = 0; i < RT_COUNT(forms); i++)
        length += (size_t)snprintf(known + length, sizeof known - length, "%s, ", forms[i].name);
    for (int op = 0; op < RT_OP_COUNT; op++)
        if (is_vector(op))
            length += (size_t)snprintf(known + length, sizeof known - length, "VEC%s, ", rt_ops[op].neusight);
    known[length - 2] = '\0';
    return rt_fail(RT_EFORMAT, "there is no op \"%.*s\"; known are %s",
                   name->length > 40 ? 40 : (int)name->length, name->text, known);
}

/* "('Linear', (4096, 1280, 3840))" */
static int read_call(const struct file *file, uint32_t at, struct call *out)
{
    const struct rt_python_literal *values = file->literals.value, *name = &values[at + 1];
    if (values[at].kind != RT_PYTHON_LIST || values[at].count != 2 || name->kind != RT_PYTHON_TEXT)
        return rt_fail(RT_EFORMAT, "an op is written ['NAME', (numbers)]");
    for (size_t i = 0; i < RT_COUNT(forms); i++)
        if (equals(name, forms[i].name))
            return forms[i].read(file, at + 2, out);
    if (name->length > 3 && memcmp(name->text, "VEC", 3) == 0) {
        struct rt_python_literal word = *name;
        word.text += 3;
        word.length -= 3;
        for (int op = 0; op < RT_OP_COUNT; op++)
            if (is_vector(op) && equals(&word, rt_ops[op].neusight)) {
                *out = (struct call){.op = (enum rt_op_id)op};
                return numbers(file, at + 2, 2, out->dim);
            }
    }
    return unknown_op(name);
}

/* --- rows --- */

static int read_name(struct file *file, const struct rt_csv_field *fields, enum column column,
                     struct row *row)
{
    const struct rt_csv_field *name = &fields[file->column[column]];
    if (name->length == 0)
        return rt_fail(RT_EFORMAT, "the row has no name");
    row->name = rt_strings_add(&file->names, name->text, name->length);
    return RT_OK;
}

static int read_kind(struct file *file, const struct rt_csv_field *fields, enum column column,
                     struct row *row)
{
    const char *kind = fields[file->column[column]].text;
    row->fused = strcmp(kind, "fused") == 0;
    row->embedding = strcmp(kind, "EMBEDDING") == 0;
    row->dropout = strcmp(kind, "dropout") == 0;
    file->any_fused |= row->fused;
    return RT_OK;
}

static int read_calls(struct file *file, const struct rt_csv_field *fields, enum column column,
                      struct row *row)
{
    int status = parse_cell(file, fields, column);
    if (status != RT_OK)
        return status;
    const struct rt_python_literal *values = file->literals.value;
    for (uint32_t i = 1; i < values[0].end; i = values[i].end) {
        struct call call = {0};
        if ((status = read_call(file, i, &call)) != RT_OK)
            return status;
        if (call.op == RT_OP_COPY && call.dim[1] == 0)
            continue; /* a size that the host knows */
        if ((status = rt_op_check(call.op, call.dim)) != RT_OK)
            return status;
        call.phase = (enum rt_phase)(RT_FORWARD + (column - FORWARD));
        file->any_backward |= call.phase == RT_BACKWARD;
        file->calls = room(file->calls, file->call_count, &file->call_capacity, sizeof *file->calls);
        file->calls[file->call_count++] = call;
        row->call_count++;
    }
    return RT_OK;
}

static int read_previous(struct file *file, const struct rt_csv_field *fields, enum column column,
                         struct row *row)
{
    int status = parse_cell(file, fields, column);
    if (status != RT_OK)
        return status;
    const struct rt_python_literal *values = file->literals.value;
    for (uint32_t i = 1; i < values[0].end; i = values[i].end) {
        if (values[i].kind != RT_PYTHON_TEXT || values[i].length == 0)
            return rt_fail(RT_EFORMAT, "a set of names must stand here");
        file->previous =
            room(file->previous, file->previous_count, &file->previous_capacity, sizeof *file->previous);
        file->previous[file->previous_count++] =
            rt_strings_add(&file->names, values[i].text, values[i].length);
        row->previous_count++;
    }
    return RT_OK;
}

static int read_inputs(struct file *file, const struct rt_csv_field *fields, enum column column,
                       struct row *row)
{
    int status = parse_cell(file, fields, column);
    if (status != RT_OK)
        return status;
    const struct rt_python_literal *values = file->literals.value;
    for (uint32_t i = 1; i < values[0].end; i = values[i].end) {
        double elements = 0;
        if ((status = shape_elements(file, i, &elements)) != RT_OK)
            return status;
        row->inputs += elements;
    }
    return RT_OK;
}

static int read_output(struct file *file, const struct rt_csv_field *fields, enum column column,
                       struct row *row)
{
    int status = parse_cell(file, fields, column);
    if (status != RT_OK || (status = shape_elements(file, 0, &row->outputs)) != RT_OK)
        return status;
    const struct rt_python_literal *values = file->literals.value;
    if (file->row_count == 0 && values[0].count == 2 && row->outputs > 0) {
        file->shape[0] = values[1].integer;
        file->shape[1] = values[2].integer;
    }
    return RT_OK;
}

/* Bytes of the vector ops, as the paper's artifact prices them: those of the node, an element. */
static void price_row(struct file *file, const struct row *row)
{
    double moved = row->inputs + row->outputs;
    size_t count[RT_PHASE_COUNT] = {0};
    for (size_t c = row->call; c < row->call + row->call_count; c++)
        count[file->calls[c].phase]++;
    for (size_t c = row->call; c < row->call + row->call_count; c++) {
        struct call *call = &file->calls[c];
        bool vector = is_vector(call->op);
        if (vector && row->outputs > 0)
            call->bytes = file->width * moved / row->outputs * ((double)call->dim[0] * (double)call->dim[1]);
        if (row->fused && count[call->phase] == 1 && (vector || call->op == RT_OP_COPY))
            call->bytes = file->width * moved;
    }
}

/* What a cell holds, read into the row. Columns stand in the order of enum column. */
typedef int cell_reader(struct file *file, const struct rt_csv_field *fields, enum column column,
                        struct row *row);

static int read_row(struct file *file, const struct rt_csv_field *fields)
{
    static cell_reader *const readers[COLUMNS] = {read_name,  read_kind,     read_calls,  read_calls,
                                                  read_calls, read_previous, read_inputs, read_output};
    struct row row = {.line = rt_csv_line(file->csv),
                      .call = file->call_count,
                      .previous = file->previous_count,
                      .node = NONE};
    for (int c = 0; c < COLUMNS; c++) {
        int status = readers[c](file, fields, (enum column)c, &row);
        if (status != RT_OK)
            return rt_fail_context(status, "%s:%zu: %s", file->path, row.line, column_names[c]);
    }
    price_row(file, &row);
    file->rows = room(file->rows, file->row_count, &file->row_capacity, sizeof *file->rows);
    file->rows[file->row_count++] = row;
    return RT_OK;
}

static int find_columns(struct file *file)
{
    for (int c = 0; c < COLUMNS; c++)
        if ((file->column[c] = rt_csv_find(file->csv, column_names[c])) < 0)
            return rt_fail(RT_EFORMAT,
                           "%s:1: there is no column \"%s\"; NeuSight's operator graphs have Name, OpName, "
                           "FwOps, BwOps, AccOps, Prev, InputShapes and OutputShape",
                           file->path, column_names[c]);
    return RT_OK;
}

static int read_rows(struct file *file)
{
    const struct rt_csv_field *fields = NULL;
    int status = rt_csv_open(file->path, &file->csv), next = RT_CSV_END;
    if (status == RT_OK)
        status = find_columns(file);
    while (status == RT_OK && (next = rt_csv_next(file->csv, &fields)) == RT_CSV_ROW) {
        if (file->row_count == ROW_LIMIT)
            return rt_fail(RT_EFORMAT, "%s:%zu: more than a million operators are not read", file->path,
                           rt_csv_line(file->csv));
        status = read_row(file, fields);
    }
    if (status == RT_OK && next != RT_CSV_END)
        return next < 0 ? next : RT_EFORMAT;
    if (status == RT_OK && file->call_count == 0)
        return rt_fail(RT_EFORMAT, "%s: holds no ops", file->path);
    return status;
}

/* --- what reads what --- */

/* Turns the names in file->previous into numbers of rows. */
static int resolve(struct file *file)
{
    file->row_of = rt_malloc((file->names.count + 1) * sizeof *file->row_of);
    for (size_t i = 0; i < file->names.count; i++)
        file->row_of[i] = -1;
    for (size_t r = 0; r < file->row_count; r++) {
        int32_t *row = &file->row_of[file->rows[r].name];
        if (*row >= 0)
            return rt_fail(RT_EFORMAT, "%s:%zu: Name: \"%.100s\" is the name of line %zu too", file->path,
                           file->rows[r].line, row_name(file, &file->rows[r]), file->rows[*row].line);
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

/* Rows in file->order, each behind those that it reads and otherwise as in the file: published fused graphs
 * have a chain where it begins, before what it reads further down. Depth first, on a stack of our own. */
static int sort_rows(struct file *file)
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
            const struct row *row = &file->rows[top];
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
                            file->path, row->line, row_name(file, row));
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

/* --- the layer --- */

/* Where the one layer that was traced begins and ends, by the artifact's aggregator; `second` is a node that
 * is there when all layers are. */
static const struct section {
    const char *first, *last, *second;
} sections[] = {
    {"bert_encoder_layer_0_attention_self_query", "bert_encoder_layer_0_output_layer_norm",
     "bert_encoder_layer_1_attention_self_query"},
    {"transformer_h_0_ln_1_grad", "add_15", "transformer_h_1_ln_1"},
    {"transformer_h_0_ln_1", "add_15", "transformer_h_1_ln_1"},
    {"model_decoder_layers_0_self_attn_layer_norm", "view_11", "model_decoder_layers_1_self_attn_layer_norm"},
};

/* Place of a row in the order, -1 where no row has the name. */
static int64_t find_place(const struct file *file, const char *name)
{
    int32_t text = rt_strings_find(&file->names, name, strlen(name));
    int32_t row = text >= 0 ? file->row_of[text] : -1;
    for (size_t i = 0; row >= 0 && i < file->row_count; i++)
        if (file->order[i] == (uint32_t)row)
            return (int64_t)i;
    return -1;
}

/* Places of the first and last row of the layer; false, and nothing set, where the file holds every layer. */
static bool find_layer(const struct file *file, int64_t *first, int64_t *last)
{
    if (file->any_fused)
        return false;
    for (size_t s = 0; s < RT_COUNT(sections); s++) {
        int64_t from = find_place(file, sections[s].first), to = find_place(file, sections[s].last);
        if (from < 0 || to < from || find_place(file, sections[s].second) >= 0)
            continue;
        *first = from;
        *last = to;
        return true;
    }
    return false;
}

/* --- the graph --- */

/* Several devices share the batch, or take it in microbatches. */
static struct rt_graph_options graph_options(const struct file *file, enum rt_dtype dtype)
{
    const struct rt_opgraph_name *facts = &file->facts;
    struct rt_graph_options options = {.batch = 1, .sequence = 1, .dtype = dtype};
    options.tensor_parallel = facts->tensor_parallel;
    options.fusion = facts->fusion || file->any_fused;
    if (file->named) {
        int64_t parts = facts->data_parallel * facts->microbatches;
        options.step = facts->step;
        options.sequence = facts->sequence;
        options.batch = facts->batch > parts ? facts->batch / parts : 1;
        return options;
    }
    options.step = file->any_backward ? RT_STEP_TRAINING : RT_STEP_PREFILL;
    if (file->shape[0] > 0) {
        options.batch = file->shape[0];
        options.sequence = file->shape[1];
    }
    return options;
}

static double call_outputs(const struct call *call)
{
    const struct rt_family_row *family = &rt_families[rt_ops[call->op].family];
    if (family->link)
        return (double)call->dim[1];
    double outputs = (double)call->dim[0] * (double)call->dim[1];
    return family->product ? outputs * (double)call->dim[2] : outputs;
}

static const struct call *first_call(const struct file *file, const struct row *row, enum rt_phase phase)
{
    for (size_t c = row->call; c < row->call + row->call_count; c++)
        if (file->calls[c].phase == phase)
            return &file->calls[c];
    return NULL;
}

static double row_parameters(const struct file *file, const struct row *row)
{
    double parameters = 0;
    for (size_t c = row->call; c < row->call + row->call_count; c++) {
        const struct call *call = &file->calls[c];
        if (call->phase == RT_FORWARD && call->op == RT_OP_LINEAR)
            parameters += ((double)call->dim[3] + 1) * (double)call->dim[2];
        if (call->phase == RT_FORWARD && call->op == RT_OP_LAYERNORM)
            parameters += 2.0 * (double)call->dim[1];
    }
    const struct call *table = first_call(file, row, RT_BACKWARD);
    if (row->embedding && table != NULL)
        parameters += (double)table->table;
    return parameters;
}

/* Elements that a training step keeps on account of the last node: its inputs, its result, a mask. */
static void keep_saved(struct rt_graph *graph, const struct row *row, double width)
{
    struct rt_node *node = &graph->nodes[graph->node_count - 1];
    if (row->dropout)
        node->saved = node->outputs / width;
    for (uint32_t k = 0; k < node->kernel_count; k++) {
        const struct rt_graph_kernel *kernel = &graph->kernels[node->kernel + k];
        if (kernel->call.phase != RT_FORWARD)
            continue;
        if (rt_op_keeps(kernel->call.op) == RT_KEEPS_OUTPUT)
            node->saved = node->outputs;
        for (uint32_t i = 0; rt_op_keeps(kernel->call.op) == RT_KEEPS_INPUTS && i < node->input_count; i++) {
            struct rt_node *from = &graph->nodes[graph->inputs[node->input + i]];
            if (from->saved < from->outputs)
                from->saved += from->outputs;
        }
    }
}

/* A name that ends in "_grad" says that the node's reduction overlaps with the backward pass. */
static const char *node_name(const struct file *file, const struct row *row, struct rt_graph *graph)
{
    const char *name = row_name(file, row), *ending = "_grad";
    size_t length = strlen(name), tail = strlen(ending);
    bool overlaps = false;
    for (size_t c = row->call; c < row->call + row->call_count; c++)
        overlaps |= file->calls[c].overlaps;
    if (!overlaps || (length >= tail && strcmp(name + length - tail, ending) == 0))
        return rt_graph_text(graph, name, length);
    char *longer = rt_format("%s%s", name, ending);
    const char *text = rt_graph_text(graph, longer, length + tail);
    free(longer);
    return text;
}

static void add_node(const struct file *file, struct row *row, struct rt_graph *graph)
{
    row->node = rt_graph_add_node(graph, node_name(file, row, graph));
    const struct call *forward = first_call(file, row, RT_FORWARD);
    bool fusable = forward != NULL && !row->fused;
    for (size_t c = row->call; c < row->call + row->call_count; c++) {
        const struct call *call = &file->calls[c];
        struct rt_graph_kernel *kernel = rt_graph_add_kernel(graph, call->phase, call->op, call->dim);
        if (call->bytes > 0)
            kernel->bytes = call->bytes;
        if (call->phase == RT_FORWARD)
            fusable = fusable && (is_vector(call->op) || row->dropout || row->embedding);
    }
    struct rt_node *node = &graph->nodes[row->node];
    node->fusable = fusable;
    node->outputs = row->outputs;
    if (forward != NULL && !row->fused && forward->op != RT_OP_COPY)
        node->outputs = call_outputs(forward); /* tensor-parallel files shard ops, not all shapes */
    node->parameters = row_parameters(file, row);
    if (row->fused)
        node->fused_bytes[RT_FORWARD] = node->fused_bytes[RT_BACKWARD] =
            file->width * (row->inputs + row->outputs);
}

/* The nodes whose outputs a row reads, each once. `seen` holds for each node the row that named it last. */
static size_t row_producers(const struct file *file, uint32_t r, uint32_t *seen, uint32_t *out)
{
    const struct row *row = &file->rows[r];
    size_t count = 0;
    for (size_t p = 0; p < row->previous_count; p++) {
        uint32_t node = file->rows[file->previous[row->previous + p]].node;
        if (node == NONE || seen[node] == r)
            continue;
        seen[node] = r;
        out[count++] = node;
    }
    return count;
}

/* Adds the rows of some places in the order. A row without kernels is a view of the one node that it reads;
 * a number that the host knows (a size) is a view of nothing; what reads several nodes is a node. */
static void add_rows(struct file *file, int64_t from, int64_t to, uint32_t *seen, uint32_t *producers,
                     struct rt_graph *graph)
{
    for (int64_t i = from; i < to; i++) {
        struct row *row = &file->rows[file->order[i]];
        size_t count = row_producers(file, file->order[i], seen, producers);
        if (row->call_count == 0 && (row->outputs <= 1 || !row->read || count < 2)) {
            row->node = row->outputs > 1 && count == 1 ? producers[0] : NONE;
            continue;
        }
        add_node(file, row, graph);
        for (size_t p = 0; p < count; p++)
            rt_graph_add_input(graph, producers[p]);
        if (graph->options.step == RT_STEP_TRAINING)
            keep_saved(graph, row, file->width);
    }
}

/* A last product of the size of the embedding table is that table (GPT-2, OPT, T5 tie them). */
static double shared_parameters(const struct rt_graph *graph)
{
    double table = 0, head = 0;
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct rt_node *node = &graph->nodes[n];
        const struct rt_graph_kernel *kernel = &graph->kernels[node->kernel];
        if (node->kernel_count == 0)
            continue;
        if (kernel->call.op == RT_OP_COPY)
            table = fmax(table, node->parameters);
        if (kernel->call.op == RT_OP_LINEAR && strcmp(node->name, "lm_head") == 0)
            head = (double)kernel->call.dim[2] * (double)kernel->call.dim[3];
    }
    return table == head ? table : 0;
}

static void build(struct file *file, int64_t layers, enum rt_dtype dtype, struct rt_graph *graph)
{
    struct rt_graph_options options = graph_options(file, dtype);
    int64_t first = 0, last = (int64_t)file->row_count - 1, end = (int64_t)file->row_count;
    uint32_t *seen = rt_malloc(file->row_count * sizeof *seen);
    uint32_t *producers = rt_malloc(file->row_count * sizeof *producers);
    memset(seen, 0xff, file->row_count * sizeof *seen); /* NONE */
    rt_graph_init(graph, &options);
    bool one_layer = find_layer(file, &first, &last);
    if (one_layer) {
        rt_graph_add_block(graph, "first", RT_BLOCK_FIRST, 1);
        add_rows(file, 0, first, seen, producers, graph);
    }
    rt_graph_add_block(graph, one_layer ? "layer" : "all", RT_BLOCK_LAYER, one_layer ? layers : 1);
    add_rows(file, first, last + 1, seen, producers, graph);
    uint32_t boundary = one_layer ? file->rows[file->order[last]].node : NONE;
    graph->boundary = boundary != NONE ? graph->nodes[boundary].outputs : 0;
    if (one_layer) {
        rt_graph_add_block(graph, "last", RT_BLOCK_LAST, 1);
        add_rows(file, last + 1, end, seen, producers, graph);
    }
    graph->shared = shared_parameters(graph);
    for (size_t n = 0; n < graph->node_count; n++)
        if (graph->nodes[n].kernel_count > 0)
            graph->classes = graph->nodes[n].outputs;
    free(seen);
    free(producers);
}

int rt_graph_import_opgraph(const char *path, int64_t layers, enum rt_dtype dtype, struct rt_graph *out)
{
    struct file file = {.path = path, .width = rt_dtypes[dtype].bytes};
    file.facts =
        (struct rt_opgraph_name){.data_parallel = 1, .tensor_parallel = 1, .pipeline = 1, .microbatches = 1};
    file.named = rt_opgraph_name(path, &file.facts);
    if (layers > LAYER_LIMIT)
        return rt_fail(RT_EUSAGE, "%s: %" PRId64 " layers are more than a million", path, layers);
    int status = read_rows(&file);
    if (status == RT_OK)
        status = resolve(&file);
    if (status == RT_OK)
        status = sort_rows(&file);
    if (status == RT_OK)
        build(&file, layers < 1 ? 1 : layers, dtype, out);
    file_release(&file);
    return status;
}
