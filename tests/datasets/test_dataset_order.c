/* The order of a dataset's rows: one for all who hold the same; and groups that differ in little, on disk. */
#include "test.h"

#include "datasets/dataset_order.h"

enum { ROWS = 200 };

static void add_device(struct rt_dataset *dataset, const char *name)
{
    struct rt_device device;
    rt_device_init(&device, name);
    device.sms = 1;
    device.fp32_vector_tflops = 1;
    device.memory_gib = 1;
    device.bandwidth_gbs = 1;
    device.l2_mib = 1;
    CU_ASSERT_TRUE(rt_dataset_add_device(dataset, &device) >= 0);
}

static int32_t add_kernel(struct rt_dataset *dataset, int number)
{
    char name[32];
    snprintf(name, sizeof name, "kernel_%d", number % 7);
    return rt_strings_add(&dataset->kernels, name, strlen(name));
}

/* Row `i` of a dataset whose content does not depend on the order in which rows are added. */
static void add_row(struct rt_dataset *dataset, int i)
{
    char text[32];
    const char *names[] = {"algorithm", "backend"}, *values[] = {text, "test"};
    struct rt_sample sample;
    rt_sample_init(&sample);
    snprintf(text, sizeof text, "stages=%d", i % 5);
    sample.call.op = i % 3 ? RT_OP_SOFTMAX : RT_OP_ADD;
    sample.call.dtype = i % 2 ? RT_FP32 : RT_BF16;
    sample.call.dim[0] = 1 + i % 11;
    sample.call.dim[1] = 1 + i % 13;
    sample.latency_us = 1 + i;
    add_device(dataset, i % 4 ? "B" : "A");
    sample.device = rt_dataset_find_device(dataset, i % 4 ? "B" : "A");
    sample.group = i % 17 ? rt_dataset_add_group(dataset, 2, names, values) : -1;
    sample.kernel = i % 19 ? add_kernel(dataset, i) : -1;
    sample.kernels = sample.kernel;
    rt_dataset_add_sample(dataset, &sample);
}

static void add_workload(struct rt_dataset *dataset, int i)
{
    struct rt_workload workload;
    const char *model = i % 2 ? "gpt2" : "bert";
    rt_workload_init(&workload);
    workload.device = rt_dataset_find_device(dataset, "B");
    workload.model = rt_strings_add(&dataset->texts, model, strlen(model));
    workload.batch = 1 + i;
    workload.end_to_end_us = 100 - i;
    rt_dataset_add_workload(dataset, &workload);
}

static void make(struct rt_dataset *dataset, int step)
{
    const char *names[] = {"unused"}, *values[] = {"yes"};
    rt_dataset_init(dataset);
    if (step == 3) { /* unused groups and strings are removed, too */
        rt_dataset_add_group(dataset, 1, names, values);
        rt_strings_add(&dataset->kernels, "unused", 6);
    }
    for (int i = 0; i < ROWS; i++)
        add_row(dataset, i * step % ROWS);
    for (int i = 0; i < 4; i++)
        add_workload(dataset, i * step % 4);
}

static void test_sorted_alike(void)
{
    struct rt_dataset a, b;
    make(&a, 1);
    make(&b, 3); /* 3 and 200 share no factor */
    rt_dataset_stamp(&a);
    rt_dataset_stamp(&b);
    CU_ASSERT_STRING_NOT_EQUAL(a.uuid, b.uuid);
    rt_dataset_sort(&a);
    rt_dataset_sort(&b);
    rt_dataset_stamp(&a);
    rt_dataset_stamp(&b);
    CU_ASSERT_STRING_EQUAL(a.uuid, b.uuid);
    CU_ASSERT_EQUAL(a.samples.count, ROWS);
    CU_ASSERT_EQUAL(b.group_count, 5);
    CU_ASSERT_EQUAL(b.kernels.count, 7);
    CU_ASSERT_STRING_EQUAL(a.devices[0].name, "A");
    int bad = 0;
    for (size_t i = 1; i < ROWS; i++) {
        const struct rt_sample *before = RT_SAMPLE(&a, i - 1), *now = RT_SAMPLE(&a, i);
        bad += before->device > now->device;
        bad += before->device == now->device && before->call.op > now->call.op;
        bad += before->device == now->device && before->call.op == now->call.op &&
               before->call.dtype > now->call.dtype;
    }
    for (size_t i = 0; i < ROWS; i++) { /* every row still says what it said */
        const struct rt_sample *s = RT_SAMPLE(&a, i);
        int was = (int)s->latency_us - 1;
        char text[32];
        snprintf(text, sizeof text, "stages=%d", was % 5);
        const char *algorithm = rt_dataset_attribute(&a, s->group, "algorithm");
        bad += was % 17 ? algorithm == NULL || strcmp(algorithm, text) != 0 : s->group != -1;
        snprintf(text, sizeof text, "kernel_%d", was % 7);
        bad += strcmp(rt_strings_get(&a.kernels, s->kernel), was % 19 ? text : "") != 0;
        bad += strcmp(a.devices[s->device].name, was % 4 ? "B" : "A") != 0;
    }
    CU_ASSERT_EQUAL(bad, 0);
    rt_dataset_sort(&a); /* again: nothing to do */
    rt_dataset_stamp(&a);
    CU_ASSERT_STRING_EQUAL(a.uuid, b.uuid);
    rt_dataset_release(&a);
    rt_dataset_release(&b);
}

static void test_arranged(void)
{
    struct rt_dataset dataset;
    size_t order[ROWS];
    make(&dataset, 1);
    for (size_t i = 0; i < ROWS; i++)
        order[i] = ROWS - 1 - i;
    rt_dataset_arrange(&dataset, order);
    CU_ASSERT_EQUAL(RT_SAMPLE(&dataset, 0)->latency_us, ROWS);
    CU_ASSERT_EQUAL(RT_SAMPLE(&dataset, 0)->device, 0);
    CU_ASSERT_STRING_EQUAL(dataset.devices[0].name, "B"); /* 199 % 4 is not 0 */
    CU_ASSERT_EQUAL(RT_SAMPLE(&dataset, 0)->group, 0);
    CU_ASSERT_STRING_EQUAL(rt_dataset_attribute(&dataset, 0, "algorithm"), "stages=4");
    rt_dataset_release(&dataset);
    rt_dataset_init(&dataset);
    rt_dataset_arrange(&dataset, order);
    rt_dataset_sort(&dataset);
    CU_ASSERT_EQUAL(dataset.samples.count, 0);
    rt_dataset_release(&dataset);
}

/* ---- groups on disk ---- */

static void read_back(const struct rt_dataset *dataset, const char *path, struct rt_dataset *back)
{
    RT_ASSERT_OK(rt_dataset_write(dataset, path));
    RT_ASSERT_OK(rt_dataset_read(path, back));
    rt_dataset_stamp(back);
}

/* What all groups have is written once; what one of them lacks is not given to it. */
static void test_groups_on_disk(void)
{
    const char *names[] = {"a", "b", "c"};
    const char *values[][3] = {{"1", "2", "3"}, {"1", "2", "4"}, {"1", "2", ""}, {"1", "5", "3"}};
    struct rt_dataset dataset, back;
    for (size_t count = 0; count <= RT_COUNT(values); count++) {
        rt_dataset_init(&dataset);
        for (size_t g = 0; g < count; g++)
            CU_ASSERT_EQUAL(rt_dataset_add_group(&dataset, 3, names, values[g]), (int32_t)g);
        if (count == RT_COUNT(values)) /* one that has nothing at all: nothing is common */
            CU_ASSERT_EQUAL(rt_dataset_add_group(&dataset, 0, names, values[0]), (int32_t)count);
        rt_dataset_stamp(&dataset);
        read_back(&dataset, rt_test_path("groups.h5"), &back);
        CU_ASSERT_EQUAL(back.group_count, dataset.group_count);
        CU_ASSERT_STRING_EQUAL(back.uuid, dataset.uuid);
        rt_dataset_release(&dataset);
        rt_dataset_release(&back);
    }
}

static void test_many_groups_are_small(void)
{
    enum { GROUPS = 1000, ATTRIBUTES = 30 };
    char name[ATTRIBUTES][32], value[ATTRIBUTES][64];
    const char *names[ATTRIBUTES], *values[ATTRIBUTES];
    struct rt_dataset dataset, back;
    struct stat file;
    for (int i = 0; i < ATTRIBUTES; i++) {
        snprintf(name[i], sizeof name[i], "attribute_%d", i);
        snprintf(value[i], sizeof value[i], "what holds for everything that was measured, number %d", i);
        names[i] = name[i];
        values[i] = value[i];
    }
    rt_dataset_init(&dataset);
    for (int g = 0; g < GROUPS; g++) {
        snprintf(value[7], sizeof value[7], "%d", g);
        CU_ASSERT_EQUAL(rt_dataset_add_group(&dataset, ATTRIBUTES, names, values), g);
    }
    snprintf(value[7], sizeof value[7], "%d", 17);
    CU_ASSERT_EQUAL(rt_dataset_add_group(&dataset, ATTRIBUTES, names, values), 17);
    rt_dataset_stamp(&dataset);
    read_back(&dataset, rt_test_path("many.h5"), &back);
    CU_ASSERT_STRING_EQUAL(back.uuid, dataset.uuid);
    CU_ASSERT_EQUAL_FATAL(stat(rt_test_path("many.h5"), &file), 0);
    CU_ASSERT_TRUE(file.st_size < 500 * GROUPS); /* 5 KB each with all their attributes */
    rt_dataset_release(&dataset);
    rt_dataset_release(&back);
}

RT_TESTS(RT_TEST(test_sorted_alike), RT_TEST(test_arranged), RT_TEST(test_groups_on_disk),
         RT_TEST(test_many_groups_are_small))
