/* Predictor files: round trip, tiles by nearest shape, damage, features of a newer build. */
#include "base/h5.h"
#include "models/predictors/predictor/predictor.h"
#include "models/predictors/predictor/recipe.h"
#include "test.h"

#include <math.h>

/* A softmax net and a bmm net with random weights and two measured tiles: nothing is trained here. */
static void make(struct rt_predictor *predictor, struct rt_dataset *dataset)
{
    struct rt_device device;
    rt_dataset_init(dataset);
    CU_ASSERT_EQUAL_FATAL(rt_device_find("T4", &device), RT_OK);
    rt_dataset_add_device(dataset, &device);
    CU_ASSERT_EQUAL_FATAL(rt_device_find("V100", &device), RT_OK);
    rt_dataset_add_device(dataset, &device);
    for (int i = 0; i < 4; i++) {
        struct rt_sample sample;
        rt_sample_init(&sample);
        sample.call.op = RT_OP_BMM;
        sample.device = i / 2;
        sample.call.dim[0] = 1,
        sample.call.dim[1] = sample.call.dim[2] = sample.call.dim[3] = i % 2 ? 1000 : 100;
        sample.tile[0] = 32 * (i + 1), sample.tile[1] = 64;
        rt_dataset_add_sample(dataset, &sample);
    }
    rt_predictor_init(predictor, "neusight");
    predictor->nets = rt_calloc(2, sizeof *predictor->nets);
    predictor->net_count = 2;
    struct rt_random random;
    for (size_t i = 0; i < 2; i++) {
        struct rt_recipe recipe = {.kind = "neusight",
                                   .features = "log2_tile_flops_per_sm_peak log2_wave_bytes_per_sm_l2",
                                   .layers = 3,
                                   .hidden = 16,
                                   .activation = "relu",
                                   .head = "utilisation",
                                   .loss = "smape",
                                   .family = i ? RT_FAMILY_BMM : RT_FAMILY_SOFTMAX,
                                   .policy = i ? RT_TILE_NEAREST : RT_TILE_ROW};
        CU_ASSERT_EQUAL_FATAL(rt_recipe_net(&recipe, &predictor->nets[i]), RT_OK);
        rt_random_seed(&random, 3, i);
        rt_mlp_randomize(&predictor->nets[i].mlp, &random);
    }
    rt_measured_tiles_build(&predictor->nets[1].tiles, dataset, (const uint32_t[]){0, 1, 2, 3}, 4);
}

static const struct rt_query softmax = {.call.op = RT_OP_SOFTMAX, .call.dim = {64, 512}, .tile = {-1, -1}};
static const struct rt_query bmm = {.call.op = RT_OP_BMM, .call.dim = {4, 700, 800, 900}, .tile = {-1, -1}};

static void test_round_trip(void)
{
    struct rt_predictor a, b;
    struct rt_dataset dataset;
    char path[512];
    snprintf(path, sizeof path, "%s", rt_test_path("round.h5"));
    make(&a, &dataset);
    RT_ASSERT_OK(rt_predictor_save(&a, path));
    RT_ASSERT_OK(rt_predictor_open(path, &b));
    CU_ASSERT_EQUAL(b.net_count, 2);
    const struct rt_query queries[] = {softmax, bmm, softmax};
    double before[3], after[3];
    uint8_t skip[3];
    rt_predictor_forecast(&a, &dataset.devices[1], queries, 3, NULL, before, skip);
    rt_predictor_forecast(&b, &dataset.devices[1], queries, 3, NULL, after, NULL);
    CU_ASSERT_EQUAL(memcmp(before, after, sizeof before), 0);
    CU_ASSERT_TRUE(before[0] > 0 && before[1] > 0 && before[0] == before[2]);
    rt_predictor_release(&a);
    rt_predictor_release(&b);
    rt_dataset_release(&dataset);
}

static void test_nearest_tile(void)
{
    struct rt_predictor p;
    struct rt_dataset dataset;
    int32_t tile[2];
    make(&p, &dataset);
    const struct rt_measured_tiles *tiles = &p.nets[1].tiles;
    CU_ASSERT_TRUE(rt_measured_tiles_nearest(tiles, &bmm, &dataset.devices[0], tile)); /* 1000^3 on the T4 */
    CU_ASSERT_EQUAL(tile[0], 64);
    CU_ASSERT_TRUE(rt_measured_tiles_nearest(tiles, &bmm, &dataset.devices[1], tile)); /* ... on the V100 */
    CU_ASSERT_EQUAL(tile[0], 128);
    struct rt_query small = bmm;
    small.call.dim[1] = small.call.dim[2] = small.call.dim[3] = 20;
    CU_ASSERT_TRUE(rt_measured_tiles_nearest(tiles, &small, &dataset.devices[1], tile));
    CU_ASSERT_EQUAL(tile[0], 96);
    struct rt_device a100;
    RT_ASSERT_OK(rt_device_find("A100", &a100)); /* the nearest device by its numbers is the V100 */
    CU_ASSERT_TRUE(rt_measured_tiles_nearest(tiles, &bmm, &a100, tile));
    CU_ASSERT_EQUAL(tile[0], 128);
    struct rt_query linear = bmm; /* never measured: the tiles of bmm, whose dims have the same names */
    linear.call.op = RT_OP_LINEAR;
    CU_ASSERT_TRUE(rt_measured_tiles_nearest(tiles, &linear, &dataset.devices[0], tile));
    CU_ASSERT_FALSE(rt_measured_tiles_nearest(tiles, &softmax, &dataset.devices[0], tile));
    rt_predictor_release(&p);
    rt_dataset_release(&dataset);
}

static void test_skips(void)
{
    struct rt_predictor p, roofline;
    struct rt_dataset dataset;
    struct rt_query queries[] = {
        {.call.op = RT_OP_CONV2D, .call.dim = {1, 3, 64, 9, 9, 3, 3, 1, 1, 1, 1}}, bmm, softmax};
    double latency_us[3];
    uint8_t skip[3];
    make(&p, &dataset);
    queries[1].call.dtype = RT_FP8;
    rt_predictor_forecast(&p, &dataset.devices[0], queries, 3, NULL, latency_us, skip);
    CU_ASSERT_EQUAL(skip[0], RT_SKIP_NO_FAMILY);
    CU_ASSERT_EQUAL(skip[1], RT_SKIP_NO_PEAK);
    CU_ASSERT_EQUAL(skip[2], RT_SKIP_NONE);
    CU_ASSERT_TRUE(isnan(latency_us[0]) && isnan(latency_us[1]) && latency_us[2] > 0);
    RT_ASSERT_OK(rt_predictor_open("roofline", &roofline));
    rt_predictor_forecast(&roofline, &dataset.devices[0], queries, 3, NULL, latency_us, skip);
    CU_ASSERT_TRUE(latency_us[0] > 0 && isnan(latency_us[1]) && skip[1] == RT_SKIP_NO_PEAK);
    rt_measured_tiles_release(&p.nets[1].tiles);
    rt_predictor_forecast(&p, &dataset.devices[0], &bmm, 1, NULL, latency_us, skip);
    CU_ASSERT_EQUAL(skip[0], RT_SKIP_NO_TILE);
    rt_predictor_release(&p);
    rt_predictor_release(&roofline);
    rt_dataset_release(&dataset);
}

/* Attributes that every net has. */
static void write_fit(struct rt_h5 *file, const char *group)
{
    RT_ASSERT_OK(rt_h5_set_text(file, group, "units", "any"));
    RT_ASSERT_OK(rt_h5_set_text(file, group, "loss", "log"));
    static const char *const counts[] = {"rows_train", "rows_validation", "epochs", "best_epoch"};
    for (size_t i = 0; i < RT_COUNT(counts); i++)
        RT_ASSERT_OK(rt_h5_set_integer(file, group, counts[i], 1));
    RT_ASSERT_OK(rt_h5_set_real(file, group, "validation_mape_percent", 1));
}

/* What a reader must refuse, made by writing a good file and one wrong attribute over it. */
static void test_refusals(void)
{
    static const struct {
        const char *from, *to, *words;
        int status;
    } changes[] = {
        {"log2_wave_bytes_per_sm_l2", "log2_wave_bytes_per_sm_l9",
         "needs the feature \"log2_wave_bytes_per_sm_l9\"", RT_EVERSION},
        {"utilisation", "xtilisation", "needs the head \"xtilisation\"", RT_EVERSION},
    };
    struct rt_predictor p;
    struct rt_dataset dataset;
    char path[512];
    snprintf(path, sizeof path, "%s", rt_test_path("bad.h5"));
    make(&p, &dataset);
    struct rt_h5 *file;
    for (size_t i = 0; i < RT_COUNT(changes); i++) {
        /* A build with another table of names writes such a file; here the bytes are changed and HDF5's
         * checksum of the header would notice, so the attribute is written anew in a second family group. */
        RT_ASSERT_OK(rt_h5_create(path, &file));
        RT_ASSERT_OK(rt_h5_set_text(file, "/", "format", RT_PREDICTOR_FORMAT));
        RT_ASSERT_OK(rt_h5_set_integer(file, "/", "version", RT_PREDICTOR_VERSION));
        size_t nets = p.net_count;
        p.net_count = 0;
        RT_ASSERT_OK(rt_predictor_write(&p, file));
        p.net_count = nets;
        RT_ASSERT_OK(rt_h5_make_group(file, "/families/bmm"));
        RT_ASSERT_OK(rt_h5_set_text(file, "/families/bmm", "forecaster", "network"));
        write_fit(file, "/families/bmm");
        bool feature = strncmp(changes[i].from, "log2", 4) == 0;
        RT_ASSERT_OK(
            rt_h5_set_text(file, "/families/bmm", "features", feature ? changes[i].to : changes[0].from));
        RT_ASSERT_OK(rt_h5_set_text(file, "/families/bmm", "head", feature ? "utilisation" : changes[i].to));
        RT_ASSERT_OK(rt_h5_commit(file));
        struct rt_predictor q;
        RT_ASSERT_FAILS(rt_predictor_open(path, &q), changes[i].status, changes[i].words);
    }
    struct rt_predictor q;
    RT_ASSERT_FAILS(rt_predictor_open("/nonexistent.h5", &q), RT_EIO, "/nonexistent.h5: cannot be read");
    RT_ASSERT_OK(rt_dataset_write(&dataset, path));
    RT_ASSERT_FAILS(rt_predictor_open(path, &q), RT_EFORMAT,
                    "is a rooftile-dataset file where a rooftile-predictor");
    rt_predictor_release(&p);
    rt_dataset_release(&dataset);
}

static const struct rt_family_net *net_of(const struct rt_predictor *predictor, enum rt_family family)
{
    for (size_t i = 0; i < predictor->net_count; i++)
        if (predictor->nets[i].family == family)
            return &predictor->nets[i];
    return NULL;
}

static void test_flipped_bytes(void)
{
    struct rt_predictor p, q;
    struct rt_dataset dataset;
    char path[512], bytes[1 << 17];
    snprintf(path, sizeof path, "%s", rt_test_path("flip.h5"));
    make(&p, &dataset);
    RT_ASSERT_OK(rt_predictor_save(&p, path));
    FILE *file = fopen(path, "r+b");
    size_t size = fread(bytes, 1, sizeof bytes, file);
    CU_ASSERT_TRUE(size > 1000 && size < sizeof bytes);
    int refused = 0;
    for (size_t at = 5; at < size; at += 61) {
        fseek(file, (long)at, SEEK_SET);
        fputc(bytes[at] ^ 0x20, file);
        fflush(file);
        if (rt_predictor_open(path, &q) != RT_OK) {
            refused++;
        } else { /* it lay where nothing is stored */
            CU_ASSERT_EQUAL(q.net_count, 2);
            for (size_t i = 0; i < q.net_count; i++) {
                const struct rt_family_net *a = net_of(&p, q.nets[i].family), *b = &q.nets[i];
                CU_ASSERT_EQUAL(memcmp(a->mlp.parameters, b->mlp.parameters, a->mlp.count * sizeof(rt_real)),
                                0);
            }
            rt_predictor_release(&q);
        }
        fseek(file, (long)at, SEEK_SET);
        fputc(bytes[at], file);
    }
    fclose(file);
    CU_ASSERT_TRUE(refused > 50);
    rt_predictor_release(&p);
    rt_dataset_release(&dataset);
}

RT_TESTS(RT_TEST(test_round_trip), RT_TEST(test_nearest_tile), RT_TEST(test_skips), RT_TEST(test_refusals),
         RT_TEST(test_flipped_bytes))
