/* The quick plan, plan files. See plan.h. */
#include "collect/plan.h"
#include "datasets/file.h"
#include "datasets/status.h"
#include "datasets/strings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUICK_DIMS = 4, TRIES = 4096 };
static const size_t file_limit = (size_t)64 << 20; /* bytes of a plan file */

/* Shapes of one op: inclusive ranges of its dims, and of the work a shape may be (FLOPs of products, elements
 * of the others), so that a run takes about 10 us to 50 ms on one core of a laptop. Products fill at least
 * one tile. */
static const struct sweep {
    enum rt_op_id op;
    int64_t range[QUICK_DIMS][2];
    double least, most;
} sweeps[] = {
/* clang-format off */
#define ROWS {{8, 16384}, {32, 4096}}, 0x1p15, 0x1p24
/* Elementwise rows are long, so that a tile (at most 4 Ki elements of a row) is more than its dispatch. */
#define RUNS {{8, 16384}, {256, 16384}}, 0x1p15, 0x1p24
    {RT_OP_LINEAR, {{1, 1}, {128, 4096}, {128, 4096}, {16, 4096}}, 0x1p20, 0x1p32},
    {RT_OP_GEMM, {{128, 2048}, {128, 2048}, {16, 2048}}, 0x1p20, 0x1p32},
    {RT_OP_BMM, {{2, 64}, {128, 1024}, {128, 1024}, {16, 1024}}, 0x1p20, 0x1p32},
    {RT_OP_SOFTMAX, ROWS}, {RT_OP_LAYERNORM, ROWS}, {RT_OP_ADD, RUNS}, {RT_OP_ADD_SCALAR, RUNS},
    {RT_OP_MUL, RUNS}, {RT_OP_MUL_SCALAR, RUNS}, {RT_OP_DIV, RUNS}, {RT_OP_DIV_SCALAR, RUNS},
    {RT_OP_POW, RUNS}, {RT_OP_POW_SCALAR, RUNS}, {RT_OP_RELU, RUNS}, {RT_OP_GELU, RUNS},
    {RT_OP_TANH, RUNS},
    /* clang-format on */
};

static const enum rt_family turns[] = {RT_FAMILY_LINEAR, RT_FAMILY_BMM, RT_FAMILY_SOFTMAX,
                                       RT_FAMILY_LAYERNORM, RT_FAMILY_ELEMENTWISE};

/* ---- a plan as a set ---- */

static size_t find_slot(const struct rt_plan *plan, const struct rt_task *task)
{
    size_t at = rt_hash(RT_HASH_START, task, sizeof *task) & (plan->slots - 1);
    while (plan->slot[at] != 0 && memcmp(&plan->tasks[plan->slot[at] - 1], task, sizeof *task) != 0)
        at = (at + 1) & (plan->slots - 1);
    return at;
}

static void grow(struct rt_plan *plan)
{
    plan->slots = plan->slots ? 2 * plan->slots : 64;
    plan->tasks = rt_realloc(plan->tasks, plan->slots / 2, sizeof *plan->tasks);
    free(plan->slot);
    plan->slot = rt_calloc(plan->slots, sizeof *plan->slot);
    for (size_t i = 0; i < plan->count; i++)
        plan->slot[find_slot(plan, &plan->tasks[i])] = (uint32_t)i + 1;
}

bool rt_plan_add(struct rt_plan *plan, const struct rt_task *task)
{
    if (2 * plan->count >= plan->slots)
        grow(plan);
    size_t at = find_slot(plan, task);
    if (plan->slot[at] != 0)
        return false;
    plan->hash = rt_hash(plan->count == 0 ? RT_HASH_START : plan->hash, task, sizeof *task);
    plan->tasks[plan->count++] = *task;
    plan->slot[at] = (uint32_t)plan->count;
    return true;
}

ptrdiff_t rt_plan_find(const struct rt_plan *plan, const struct rt_task *task)
{
    return plan->slots == 0 ? -1 : (ptrdiff_t)plan->slot[find_slot(plan, task)] - 1;
}

void rt_plan_release(struct rt_plan *plan)
{
    free(plan->tasks);
    free(plan->slot);
    *plan = (struct rt_plan){0};
}

/* ---- ops ---- */

static bool backend_can(const struct rt_backend *backend, enum rt_op_id op)
{
    struct rt_task task;
    rt_task_init(&task, op, RT_FP32);
    return backend->can(&task);
}

static int add_ops(const char *word, const struct rt_backend *backend, struct rt_op_set *set)
{
    int op = rt_op_find(word), family = rt_family_find(word), added = 0;
    if (op < 0 && family < 0)
        return rt_fail(RT_ENOTFOUND, "--ops: \"%s\" is neither an op nor a family of ops; see --list", word);
    for (int i = 0; i < RT_OP_COUNT; i++)
        if ((op >= 0 ? i == op : (int)rt_ops[i].family == family) && backend_can(backend, i)) {
            set->has[i] = true;
            added++;
        }
    if (added == 0)
        return rt_fail(RT_EUSAGE, "--ops: the %s backend cannot measure %s; see --list", backend->name, word);
    return RT_OK;
}

int rt_op_set_parse(const char *list, const struct rt_backend *backend, struct rt_op_set *out)
{
    struct rt_op_set set = {0};
    int status = RT_OK;
    char *copy = rt_strdup(list != NULL ? list : ""), *rest = copy, *word;
    if (list == NULL)
        for (int i = 0; i < RT_OP_COUNT; i++)
            set.has[i] = backend_can(backend, i);
    else
        while (status == RT_OK && (word = strsep(&rest, ",")) != NULL)
            status = add_ops(word, backend, &set);
    free(copy);
    if (status == RT_OK)
        *out = set;
    return status;
}

/* ---- quick ---- */

/* The radical inverse of i: its digits in a base, mirrored at the point (Halton 1960). */
static double halton(uint64_t i, unsigned base)
{
    double value = 0, digit = 1.0 / base;
    for (; i > 0; i /= base, digit /= base)
        value += (double)(i % base) * digit;
    return value;
}

/* A shift in [0, 1) for one coordinate of one op (Cranley and Patterson 1976). */
static double shift(uint64_t seed, enum rt_op_id op, int coordinate)
{
    uint64_t key[] = {seed, op, (uint64_t)coordinate}, hash = rt_hash(RT_HASH_START, key, sizeof key);
    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111ebu;
    return (double)((hash ^ hash >> 31) >> 11) * 0x1p-53;
}

static double coordinate(uint64_t seed, enum rt_op_id op, int which, uint64_t i)
{
    static const unsigned bases[QUICK_DIMS + 1] = {2, 3, 5, 7, 11};
    double u = halton(i, bases[which]) + shift(seed, op, which);
    return u - floor(u);
}

/* Log-uniform over low..high; half of all shapes have the round dims that networks have. */
static int64_t scale(double u, const int64_t *range, bool round)
{
    double value = (double)range[0] * pow(((double)range[1] + 1) / (double)range[0], u);
    int64_t dim = (int64_t)value, step = dim >= 512 ? 128 : dim >= 128 ? 64 : dim >= 32 ? 16 : 8;
    if (round && dim >= 16)
        dim = (dim + step / 2) / step * step;
    return dim < range[0] ? range[0] : dim > range[1] ? range[1] : dim;
}

static double work_of(const struct rt_task *task)
{
    enum rt_family family = rt_ops[task->op].family;
    if (family == RT_FAMILY_LINEAR || family == RT_FAMILY_BMM)
        return rt_task_flops(task);
    return (double)task->dim[0] * (double)task->dim[1];
}

/* Adds the next new shape of a sweep; *next is its place in the Halton sequence. false: none was found. */
static bool add_next(struct rt_plan *plan, uint64_t seed, const struct sweep *sweep, uint64_t *next)
{
    for (int i = 0; i < TRIES; i++) {
        struct rt_task task;
        rt_task_init(&task, sweep->op, RT_FP32);
        uint64_t point = ++*next;
        bool round = coordinate(seed, sweep->op, QUICK_DIMS, point) < 0.5;
        for (int d = 0; d < rt_op_ndims(sweep->op); d++)
            task.dim[d] = scale(coordinate(seed, sweep->op, d, point), sweep->range[d], round);
        double work = work_of(&task);
        if (work >= sweep->least && work <= sweep->most && rt_plan_add(plan, &task))
            return true;
    }
    return false;
}

/* The sweeps of one family that the set holds, taken in turn. */
struct turn {
    const struct sweep *sweep[RT_COUNT(sweeps)];
    uint64_t next[RT_COUNT(sweeps)];
    size_t count, at;
};

static bool take_turn(struct rt_plan *plan, uint64_t seed, struct turn *turn)
{
    while (turn->count > 0) {
        size_t at = turn->at % turn->count;
        if (add_next(plan, seed, turn->sweep[at], &turn->next[at])) {
            turn->at = at + 1;
            return true;
        }
        turn->count--; /* its ranges are used up */
        memmove(&turn->sweep[at], &turn->sweep[at + 1], (turn->count - at) * sizeof turn->sweep[0]);
        memmove(&turn->next[at], &turn->next[at + 1], (turn->count - at) * sizeof turn->next[0]);
    }
    return false;
}

int rt_plan_quick(uint64_t seed, const struct rt_op_set *ops, size_t count, struct rt_plan *out)
{
    struct rt_plan plan = {0};
    struct turn turn[RT_COUNT(turns)] = {0};
    for (size_t f = 0; f < RT_COUNT(turns); f++)
        for (size_t s = 0; s < RT_COUNT(sweeps); s++)
            if (rt_ops[sweeps[s].op].family == turns[f] && ops->has[sweeps[s].op])
                turn[f].sweep[turn[f].count++] = &sweeps[s];
    bool more = true;
    while (more && plan.count < count) {
        more = false;
        for (size_t f = 0; f < RT_COUNT(turns) && plan.count < count; f++)
            more |= take_turn(&plan, seed, &turn[f]);
    }
    if (plan.count == 0) {
        rt_plan_release(&plan);
        return rt_fail(RT_EUSAGE, "--plan quick has no shapes for these --ops; write a plan file for them");
    }
    *out = plan;
    return RT_OK;
}

/* ---- plan files ---- */

static char *trim(char *text)
{
    text += strspn(text, " \t\r");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r", text[length - 1]))
        text[--length] = '\0';
    return text;
}

static int find_dim(enum rt_op_id op, const char *name)
{
    for (int d = 0; d < rt_op_ndims(op); d++)
        if (strcmp(rt_ops[op].dims[d], name) == 0)
            return d;
    return -1;
}

static int no_such_dim(enum rt_op_id op, const char *name)
{
    char dims[256] = "";
    size_t used = 0;
    for (int d = 0; d < rt_op_ndims(op) && used < sizeof dims; d++)
        used += (size_t)snprintf(dims + used, sizeof dims - used, " %s", rt_ops[op].dims[d]);
    return rt_fail(RT_EFORMAT, "%s has no dim \"%.40s\"; it has%s", rt_ops[op].name, name, dims);
}

/* "name=value" of a task. */
static int parse_setting(char *text, struct rt_task *task)
{
    char *value = strchr(text, '=');
    if (value == NULL)
        return rt_fail(RT_EFORMAT, "\"%.40s\" is not dim=value", text);
    *value++ = '\0';
    text = trim(text);
    value = trim(value);
    int d = find_dim(task->op, text), dtype;
    if (d >= 0) {
        if (task->dim[d] >= 0)
            return rt_fail(RT_EFORMAT, "dim \"%s\" is given twice", text);
        if (rt_parse_integer(value, strlen(value), &task->dim[d]) != 0 || task->dim[d] < 0)
            return rt_fail(RT_EFORMAT, "%s=%.40s is not a whole number", text, value);
        return RT_OK;
    }
    if (strcmp(text, "dtype") != 0)
        return no_such_dim(task->op, text);
    if ((dtype = rt_dtype_find(value)) < 0)
        return rt_fail(RT_EFORMAT, "dtype \"%.40s\" is unknown", value);
    task->dtype = (uint8_t)dtype;
    return RT_OK;
}

static int parse_line(char *line, const struct rt_backend *backend, struct rt_task *task)
{
    char *rest = line, *word = trim(strsep(&rest, ","));
    int op = rt_op_find(word), status = RT_OK;
    if (op < 0)
        return rt_fail(RT_EFORMAT, "\"%.40s\" is no op; see rooftile collect --list", word);
    rt_task_init(task, op, RT_FP32);
    while (status == RT_OK && (word = strsep(&rest, ",")) != NULL)
        status = parse_setting(trim(word), task);
    for (int d = 0; status == RT_OK && d < rt_op_ndims(op); d++)
        if (task->dim[d] < 0)
            status = rt_fail(RT_EFORMAT, "dim \"%s\" of %s is missing", rt_ops[op].dims[d], rt_ops[op].name);
    if (status == RT_OK)
        status = rt_op_check(op, task->dim);
    if (status == RT_OK && !backend->can(task))
        status = rt_fail(RT_EUSAGE, "the %s backend cannot measure %s in %s; see --list", backend->name,
                         rt_ops[op].name, rt_dtypes[task->dtype].name);
    return status;
}

int rt_plan_read(const char *path, const struct rt_backend *backend, const struct rt_op_set *ops,
                 struct rt_plan *out)
{
    struct rt_plan plan = {0};
    char *text, *rest, *line;
    size_t size, number = 0;
    int status = rt_file_read(path, file_limit, &text, &size);
    if (status != RT_OK)
        return status;
    if (strlen(text) != size)
        status = rt_fail(RT_EFORMAT, "%s: is not text: it holds a byte 0", path);
    for (rest = text; status == RT_OK && (line = strsep(&rest, "\n")) != NULL;) {
        struct rt_task task;
        number++;
        line[strcspn(line, "#")] = '\0';
        line = trim(line);
        if (*line == '\0')
            continue;
        status = parse_line(line, backend, &task);
        if (status != RT_OK)
            status = rt_fail_context(status, "%s:%zu", path, number);
        else if (ops->has[task.op] && !rt_plan_add(&plan, &task))
            plan.duplicates++;
    }
    free(text);
    if (status == RT_OK && plan.count == 0)
        status =
            rt_fail(RT_EFORMAT,
                    "%s: holds no shape to measure; write lines such as bmm,batch=8,m=64,n=64,k=64", path);
    if (status != RT_OK)
        rt_plan_release(&plan);
    else
        *out = plan;
    return status;
}
