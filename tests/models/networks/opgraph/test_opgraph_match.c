/* Graphs built from config.json against NeuSight's published operator graphs: the same products, of the same
 * dims, equally often, in every phase, and the same vector ops forward and in accumulation. Backward
 * vector ops are not compared: ours follow PyTorch (pytorch_ops.py compares), NeuSight's a rule. Every other
 * difference has a line with its reason in tests/data/graphs/expected_differences.txt; a difference without a
 * line fails, as does a line without a difference. */
#include "test.h"

#include "models/networks/opgraph/opgraph.h"
#include "models/networks/model.h"

#include <dirent.h>
#include <fnmatch.h>
#include <inttypes.h>

/* --- how often a graph runs each kernel --- */

struct tally {
    uint8_t phase, op;
    int64_t dim[4];
    int64_t published, built;
};
struct tallies {
    struct tally *items;
    size_t count, capacity;
};

/* Ops that NeuSight has a name for; memory ops and collectives are not compared. */
static bool compared(const struct rt_graph_kernel *kernel)
{
    enum rt_family family = rt_call_family(&kernel->call);
    bool product = family == RT_FAMILY_LINEAR || family == RT_FAMILY_BMM;
    return rt_ops[kernel->call.op].neusight != NULL && family != RT_FAMILY_CONV &&
           (product || kernel->call.phase != RT_BACKWARD);
}

static struct tally *tally_of(struct tallies *tallies, const struct rt_graph_kernel *kernel)
{
    for (size_t i = 0; i < tallies->count; i++) {
        struct tally *t = &tallies->items[i];
        if (t->phase == kernel->call.phase && t->op == kernel->call.op &&
            memcmp(t->dim, kernel->call.dim, sizeof t->dim) == 0)
            return t;
    }
    if (tallies->count == tallies->capacity) {
        tallies->capacity = tallies->capacity > 0 ? 2 * tallies->capacity : 64;
        tallies->items = rt_realloc(tallies->items, tallies->capacity, sizeof *tallies->items);
    }
    struct tally *t = &tallies->items[tallies->count++];
    *t = (struct tally){.phase = kernel->call.phase, .op = kernel->call.op};
    memcpy(t->dim, kernel->call.dim, sizeof t->dim);
    return t;
}

static void count_kernels(struct tallies *tallies, const struct rt_graph *graph, bool built)
{
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct rt_node *node = &graph->nodes[n];
        for (uint32_t k = node->kernel; k < node->kernel + node->kernel_count; k++) {
            if (!compared(&graph->kernels[k]))
                continue;
            struct tally *t = tally_of(tallies, &graph->kernels[k]);
            *(built ? &t->built : &t->published) += rt_graph_repeat(graph, node);
        }
    }
}

/* --- a published graph and the one that is built --- */

struct pair {
    const char *file;
    struct rt_opgraph_name name;
    struct rt_model model;
    struct rt_graph_options options;
    struct tallies tallies;
};

/* One device's share of the batch in the file's name. */
static struct rt_graph_options options_of(const struct rt_opgraph_name *name)
{
    return (struct rt_graph_options){.step = name->step,
                                     .batch = name->batch / rt_parallelism_parts(&name->parallel),
                                     .sequence = name->sequence,
                                     .tensor_parallel = name->parallel.tensor,
                                     .dtype = RT_FP32,
                                     .fusion = name->fusion};
}

/* The sizes and the model in the file's name; empty tallies. */
static void pair_init(struct pair *pair, const char *data, const char *file)
{
    char path[1400];
    *pair = (struct pair){.file = file};
    CU_ASSERT_TRUE_FATAL(rt_opgraph_name(file, &pair->name));
    pair->options = options_of(&pair->name);
    snprintf(path, sizeof path, "%s/models/%s.json", data, pair->name.model);
    RT_ASSERT_OK(rt_model_load(path, &pair->model));
    pair->model.head =
        RT_MODEL_HEAD_OWN; /* BERT's config names BertLMHeadModel, which is not what was traced */
}

static void count_both(struct pair *pair, const char *data)
{
    char path[1400];
    struct rt_graph built, published;
    RT_ASSERT_OK(rt_graph_build(&pair->model, &pair->options, &built));
    snprintf(path, sizeof path, "%s/opgraph/%s", data, pair->file);
    RT_ASSERT_OK(rt_graph_import_opgraph(path, pair->model.layers, RT_FP32, &published));
    count_kernels(&pair->tallies, &published, false);
    count_kernels(&pair->tallies, &built, true);
    rt_graph_release(&built);
    rt_graph_release(&published);
}

/* --- the list of differences --- */

struct expected {
    char file[64], phase[16], op[16], dims[64];
    int64_t difference; /* built - published */
    bool per_layer;
    int line;
    size_t seen;
};
struct list {
    struct expected items[128];
    size_t count;
};

static void read_expected(const char *path, struct list *list)
{
    char line[512];
    FILE *file = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    for (int number = 1; fgets(line, sizeof line, file) != NULL; number++) {
        if (line[0] == '#' || line[0] == '\n')
            continue;
        CU_ASSERT_FATAL(list->count < RT_COUNT(list->items));
        struct expected *e = &list->items[list->count++];
        char difference[16] = "", reason[4] = "";
        *e = (struct expected){.line = number};
        int fields = sscanf(line, "%63s %15s %15s %63s %15s %3s", e->file, e->phase, e->op, e->dims,
                            difference, reason);
        char *end = difference;
        e->difference = strtoll(difference, &end, 10);
        e->per_layer = strcmp(end, "L") == 0;
        bool good = fields == 6 && end != difference && (*end == '\0' || e->per_layer);
        if (!good)
            printf("# %s:%d: not FILE PHASE OP DIMS DIFFERENCE REASON\n", path, number);
        CU_ASSERT_TRUE_FATAL(good);
    }
    fclose(file);
}

static int64_t size_of_letter(const struct pair *pair, char letter)
{
    const struct rt_model *model = &pair->model;
    int64_t devices = pair->options.tensor_parallel;
    const struct {
        char letter;
        int64_t size;
    } sizes[] = {{'B', pair->options.batch},    {'S', pair->options.sequence},
                 {'A', model->heads / devices}, {'D', model->head_dim},
                 {'H', model->hidden},          {'F', model->ffn_width / devices},
                 {'V', model->vocab / devices}, {'U', (model->vocab + devices - 1) / devices},
                 {'E', model->experts.count}};
    for (size_t i = 0; i < RT_COUNT(sizes); i++)
        if (sizes[i].letter == letter)
            return sizes[i].size;
    printf("# '%c' is no letter that a dim is written with\n", letter);
    CU_FAIL_FATAL("expected_differences.txt");
    return -1;
}

/* "1,BAS,D": each a product of a number and letters. */
static bool dims_match(const struct pair *pair, const char *dims, const struct tally *t)
{
    int count = rt_op_graph_dims(t->op);
    for (int d = 0; d < count; d++) {
        char *at = (char *)dims;
        int64_t size = strtoll(dims, &at, 10);
        if (at == dims)
            size = 1;
        for (; *at != '\0' && *at != ','; at++)
            size *= size_of_letter(pair, *at);
        if (size != t->dim[d] || (*at == ',') != (d + 1 < count))
            return false;
        dims = at + 1;
    }
    return true;
}

static bool is_expected(struct list *list, const struct pair *pair, const struct tally *t)
{
    bool any = false;
    for (size_t i = 0; i < list->count; i++) {
        struct expected *e = &list->items[i];
        int64_t difference = e->difference * (e->per_layer ? pair->model.layers : 1);
        if (difference != t->built - t->published || strcmp(e->phase, rt_phases[t->phase]) != 0 ||
            strcmp(e->op, rt_ops[t->op].name) != 0 || fnmatch(e->file, pair->file, 0) != 0 ||
            !dims_match(pair, e->dims, t))
            continue;
        e->seen++;
        any = true;
    }
    return any;
}

static void print_difference(const struct pair *pair, const struct tally *t)
{
    printf("# %s %s %s ", pair->file, rt_phases[t->phase], rt_ops[t->op].name);
    for (int d = 0; d < rt_op_ndims(t->op); d++)
        printf("%s%" PRId64, d > 0 ? "," : "", t->dim[d]);
    printf(" %+" PRId64 " (%" PRId64 " published)\n", t->built - t->published, t->published);
}

struct result {
    size_t listed, unlisted;
};
static struct result compare(struct list *list, const struct pair *pair, bool print)
{
    struct result result = {0};
    for (size_t i = 0; i < pair->tallies.count; i++) {
        const struct tally *t = &pair->tallies.items[i];
        if (t->built == t->published)
            continue;
        bool expected = is_expected(list, pair, t);
        ++*(expected ? &result.listed : &result.unlisted);
        if (print && !expected)
            print_difference(pair, t);
    }
    return result;
}

/* --- tests --- */

static int is_csv(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 4 && strcmp(entry->d_name + length - 4, ".csv") == 0;
}

static void test_published_graphs(void)
{
    const char *data = rt_test_data("ROOFTILE_NEUSIGHT", "neusight");
    if (data == NULL)
        return;
    char path[1200];
    snprintf(path, sizeof path, "%s/opgraph", data);
    struct list list = {0};
    read_expected(RT_SOURCE_DIR "/tests/data/graphs/expected_differences.txt", &list);
    struct dirent **files = NULL;
    int count = scandir(path, &files, is_csv, alphasort);
    CU_ASSERT_FATAL(count > 0);
    size_t same = 0, kinds = 0, unseen = 0;
    struct result total = {0};
    for (int i = 0; i < count; i++) {
        struct pair pair;
        pair_init(&pair, data, files[i]->d_name);
        count_both(&pair, data);
        struct result result = compare(&list, &pair, true);
        same += result.listed + result.unlisted == 0;
        kinds += pair.tallies.count;
        total.listed += result.listed;
        total.unlisted += result.unlisted;
        free(pair.tallies.items);
        free(files[i]);
    }
    free(files);
    printf("# %d graphs, %zu without a difference; of %zu kinds of kernels %zu differ as listed, %zu "
           "otherwise\n",
           count, same, kinds, total.listed, total.unlisted);
    CU_ASSERT_EQUAL(total.unlisted, 0);
    for (size_t i = 0; i < list.count; i++) {
        if (list.items[i].seen == 0)
            printf("# expected_differences.txt:%d: there is no such difference\n", list.items[i].line);
        unseen += list.items[i].seen == 0;
    }
    CU_ASSERT_EQUAL(unseen, 0);
}

/* A kernel of other dims is two differences; lines that name them match, and lines that name others do not.
 */
static void test_differences_are_noticed(void)
{
    struct pair pair = {.file = "gpt2-inf-512-2.csv",
                        .options = {.batch = 2, .sequence = 512, .tensor_parallel = 1}};
    RT_ASSERT_OK(rt_model_named("gpt2", &pair.model));
    struct rt_graph graph;
    RT_ASSERT_OK(rt_graph_build(&pair.model, &pair.options, &graph));
    count_kernels(&pair.tallies, &graph, false);
    count_kernels(&pair.tallies, &graph, true);
    struct list list = {.items = {{"gpt2-inf-*", "forward", "bmm", "BA,S,S,D", -1, .per_layer = true},
                                  {"gpt2-inf-*", "forward", "bmm", "BA,S,D,D", 12, .per_layer = false}},
                        .count = 0};
    CU_ASSERT_EQUAL(compare(&list, &pair, false).unlisted, 0);
    free(pair.tallies.items);
    pair.tallies = (struct tallies){0};
    count_kernels(&pair.tallies, &graph, false);
    for (size_t k = 0; k < graph.kernel_count; k++)
        if (graph.kernels[k].call.op == RT_OP_BMM && graph.kernels[k].call.dim[3] == 64)
            graph.kernels[k].call.dim[2] = 64;
    count_kernels(&pair.tallies, &graph, true);
    CU_ASSERT_EQUAL(compare(&list, &pair, false).unlisted, 2);
    list.count = 2;
    CU_ASSERT_EQUAL(compare(&list, &pair, false).listed, 2);
    strcpy(list.items[1].dims, "BA,S,D");
    CU_ASSERT_EQUAL(compare(&list, &pair, false).unlisted, 1);
    strcpy(list.items[1].file, "gpt2-train-*");
    CU_ASSERT_EQUAL(compare(&list, &pair, false).unlisted, 1);
    free(pair.tallies.items);
    rt_graph_release(&graph);
}

RT_TESTS(RT_TEST(test_published_graphs), RT_TEST(test_differences_are_noticed))
