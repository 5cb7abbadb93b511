/* Models of images against what timm's own benchmarks say of them: parameters in millions and multiply-adds
 * in billions of every model of its tables that has a name here (../shared/corpora/timm). */
#include "base/csv.h"
#include "models/networks/find.h"

#include <math.h>

/* Those that differ, by what their names begin with, and why. */
static const struct {
    const char *name, *why;
} different[] = {
    {"inception_v3", "torchvision's has an auxiliary classifier"},
    {"convnext_nano_ols", "timm's has changed since"},
    {"regnety_2560", "timm's has changed since"},
    {"vit_base_r50_s16_224", "timm's has changed since"},
    {"vit_large_patch32_224", "older rows have a layer for pretraining"},
    {"vit_huge_patch14_224", "older rows have a layer for pretraining"},
    {"vit_base_patch16_224_miil", "older rows have other classes"},
    {"ecaresnext50t_32x4d", "timm's mistake: the row is of the 26 layers"},
    {"repvgg", "newer rows are of branches made one"},
    {"mobileone", "newer rows are of branches made one"},
    {"repvit", "newer rows are of branches made one"},
    {"repghostnet", "newer rows are of branches made one"},
    {"fastvit", "newer rows are of branches made one"},
    {"efficientvit_m", "newer rows are of norms made part of products"},
    {"efficientformerv2", "newer rows are of norms made part of products"},
    {"levit", "newer rows are of norms made part of products"},
};

static bool is_different(const char *name)
{
    for (size_t i = 0; i < RT_COUNT(different); i++)
        if (strncmp(different[i].name, name, strlen(different[i].name)) == 0)
            return true;
    return false;
}

/* What fvcore counts, which timm uses: products, 2 for each element of a batch norm, 5 of another norm. It
 * does not see attention in one kernel, so that those products count apart. */
struct counts {
    double parameters, macs, attention;
};

static void count_kernel(const struct rt_graph_kernel *kernel, double times, struct counts *out)
{
    const int64_t *dim = kernel->call.dim;
    switch (kernel->call.op) {
    case RT_OP_LINEAR:
        out->macs += times * (double)dim[0] * (double)dim[1] * (double)dim[2] * (double)dim[3];
        break;
    case RT_OP_BMM:
        out->attention += times * (double)dim[0] * (double)dim[1] * (double)dim[2] * (double)dim[3];
        break;
    case RT_OP_CONV2D:
        out->macs += times * kernel->flops / 2;
        break;
    case RT_OP_BATCHNORM_INFERENCE:
        out->macs += times * 2 * (double)dim[0] * (double)dim[1] * (double)dim[2] * (double)dim[3];
        break;
    case RT_OP_LAYERNORM:
        out->macs += times * 5 * (double)dim[0] * (double)dim[1];
        break;
    default:
        break;
    }
}

/* false: no such name here, or not of that size. */
static bool count(const char *name, int64_t image, struct counts *out)
{
    struct rt_model model;
    struct rt_graph graph;
    struct rt_graph_options options = prefill(1, 0);
    char *spec = rt_format("timm/%.*s", (int)strcspn(name, "."), name);
    int status = rt_model_named(spec, &model);
    free(spec);
    options.image = image;
    options.runtime = RT_RUNTIME_EAGER_MATH;
    if (status != RT_OK || rt_graph_build(&model, &options, &graph) != RT_OK)
        return false;
    *out = (struct counts){.parameters = graph_parameters(&graph)};
    for (size_t n = 0; n < graph.node_count; n++)
        for (uint32_t k = 0; k < graph.nodes[n].kernel_count; k++)
            count_kernel(&graph.kernels[graph.nodes[n].kernel + k],
                         (double)graph.blocks[graph.nodes[n].block].repeat, out);
    rt_graph_release(&graph);
    return true;
}

static bool near(double ours, double theirs)
{
    return fabs(ours - theirs) <= 0.0051 + 0.015 * theirs;
}

struct tally {
    int rows, read, parameters, macs;
};

static void check_row(const char *name, int64_t image, double parameters, double macs, struct tally *tally)
{
    struct counts ours;
    tally->rows++;
    if (!count(name, image, &ours))
        return;
    tally->read++;
    char *network = rt_format("%.*s", (int)strcspn(name, "."), name);
    bool same = fabs(ours.parameters / 1e6 - parameters) <= 0.0051 + 2e-4 * parameters;
    bool same_macs = near(ours.macs / 1e9, macs) || near((ours.macs + ours.attention) / 1e9, macs);
    tally->parameters += !same;
    tally->macs += !same_macs;
    if (!same && !is_different(network))
        printf("# %s: %.3f million parameters, timm has %.2f\n", name, ours.parameters / 1e6, parameters);
    if (!same_macs && !is_different(network))
        printf("# %s at %lld: %.3f or %.3f billion MACs, timm has %.2f\n", name, (long long)image,
               ours.macs / 1e9, (ours.macs + ours.attention) / 1e9, macs);
    CU_ASSERT_TRUE(same || is_different(network));
    free(network);
}

static double number_of(const struct rt_csv *csv, const struct rt_csv_field *fields, const char *column)
{
    int at = rt_csv_find(csv, column);
    return at < 0 || fields[at].missing ? -1 : strtod(fields[at].text, NULL);
}

static void check_file(const char *path, struct tally *tally)
{
    const struct rt_csv_field *fields;
    struct rt_csv *csv;
    RT_ASSERT_OK(rt_csv_open(path, &csv));
    while (rt_csv_next(csv, &fields) == RT_CSV_ROW) {
        double image = number_of(csv, fields, "infer_img_size"), macs = number_of(csv, fields, "infer_gmacs");
        if (image > 0 && macs > 0)
            check_row(fields[rt_csv_find(csv, "model")].text, (int64_t)image,
                      number_of(csv, fields, "param_count"), macs, tally);
    }
    rt_csv_close(csv);
}

/* Of an older and of a newer PyTorch: both have names that the other lacks. */
static void test_against_benchmarks(void)
{
    static const char *const files[] = {"benchmark-infer-amp-nchw-pt113-cu117-rtx3090.csv",
                                        "benchmark-infer-amp-nchw-pt291-cu130-5090.csv"};
    const char *corpora = rt_test_data("ROOFTILE_CORPORA", "corpora");
    struct tally tally = {0};
    for (size_t i = 0; corpora != NULL && i < RT_COUNT(files); i++) {
        char *path = rt_format("%s/timm/results/%s", corpora, files[i]);
        check_file(path, &tally);
        free(path);
    }
    if (corpora == NULL)
        return;
    printf("# %d of %d rows read; %d differ in parameters, %d in MACs\n", tally.read, tally.rows,
           tally.parameters, tally.macs);
    CU_ASSERT_TRUE(tally.read >= 2000);
    CU_ASSERT_TRUE(tally.macs <= 40);
}

RT_TESTS(RT_TEST(test_against_benchmarks))
