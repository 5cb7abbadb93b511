/* A dataset as CSV and back: the same file, byte for byte; and CSV that people wrote. */
#include "datasets/export_csv.h"
#include "datasets/import/import.h"
#include "comma_locale.h"
#include "test.h"

#include <math.h>

#define MINI RT_SOURCE_DIR "/tests/data/"

static int import(const char *format, const char *path, struct rt_dataset *out,
                  struct rt_import_report *report)
{
    const struct rt_import_options options = {1, true, false, NULL};
    *report = (struct rt_import_report){0};
    return rt_import(format, path, &options, out, report);
}

static bool same_bytes(const char *one, const char *other)
{
    FILE *a = fopen(one, "r"), *b = fopen(other, "r");
    int x, y;
    do {
        x = fgetc(a);
        y = fgetc(b);
    } while (x == y && x != EOF);
    fclose(a);
    fclose(b);
    return x == y;
}

/* HDF5 -> CSV -> HDF5. */
static void check_round_trip(const struct rt_dataset *dataset)
{
    struct rt_dataset back;
    struct rt_import_report report;
    RT_ASSERT_OK(rt_dataset_write(dataset, rt_test_path("before.h5")));
    RT_ASSERT_OK(rt_export_csv(dataset, rt_test_path("folder"), NULL));
    RT_ASSERT_OK(import("csv", rt_test_path("folder"), &back, &report));
    CU_ASSERT_EQUAL(report.refused.count, 0);
    CU_ASSERT_STRING_EQUAL(back.uuid, dataset->uuid);
    RT_ASSERT_OK(rt_dataset_write(&back, rt_test_path("after.h5")));
    CU_ASSERT_TRUE(same_bytes(rt_test_path("before.h5"), rt_test_path("after.h5")));
    rt_import_report_release(&report);
    rt_dataset_release(&back);
}

static void test_imports_round_trip(void)
{
    static const char *const trees[][2] = {{"neusight", MINI "neusight_mini"},
                                           {"aiconfigurator", MINI "aiconfigurator_mini"}};
    for (size_t i = 0; i < RT_COUNT(trees); i++) {
        struct rt_dataset dataset;
        struct rt_import_report report;
        RT_ASSERT_OK(import(trees[i][0], trees[i][1], &dataset, &report));
        check_round_trip(&dataset);
        rt_import_report_release(&report);
        rt_dataset_release(&dataset);
    }
}

/* Everything that is awkward in CSV: separators, quotes, line ends, spaces, empty texts, unused strings in an
 * odd order, an empty group, every flag, numbers that need all their digits. */
static void make_awkward(struct rt_dataset *d)
{
    static const char *const names[] = {"a, b", "quote\"", "line"}, *const values[] = {" 1 ", "\"",
                                                                                       "1\n2\r\n3"};
    struct rt_device device;
    struct rt_sample s;
    struct rt_workload w;
    rt_dataset_init(d);
    CU_ASSERT_EQUAL_FATAL(rt_device_find("H100", &device), RT_OK);
    rt_dataset_add_device(d, &device);
    rt_device_init(&device, "Device, with \"all\"");
    device.sms = 7, device.clock_mhz = 1000.1, device.fp32_vector_tflops = 1.0 / 3, device.memory_gib = 1;
    device.bandwidth_gbs = 100, device.l2_mib = 2, device.cores_per_sm = 128;
    rt_dataset_add_device(d, &device);
    rt_dataset_add_group(d, 0, NULL, NULL);
    rt_dataset_add_group(d, 3, names, values);
    rt_strings_add(&d->kernels, "unused", 6);
    rt_strings_add(&d->texts, "zebra", 5);
    rt_sample_init(&s);
    s.call.op = RT_OP_GEMM, s.call.dtype = RT_FP8_BLOCK, s.call.phase = RT_BACKWARD, s.split = RT_SPLIT_TEST;
    s.device = 1, s.group = 1, s.kernel = rt_strings_add(&d->kernels, " k<a,\"b\">\n", 10);
    s.kernels = rt_strings_add(&d->kernels, "", 0);
    s.call.dim[0] = 1, s.call.dim[1] = (int64_t)1 << 40, s.call.dim[2] = 3;
    s.latency_us = 0.1 + 0.2, s.latency_median_us = 86400e6 / 3, s.latency_min_us = 1e-3,
    s.latency_spread_us = 0;
    s.energy_mj = 1.0 / 3, s.count = 25, s.tile[0] = 128, s.grid[2] = INT32_MAX, s.block[1] = 1, s.flags = 31;
    rt_dataset_add_sample(d, &s);
    rt_dataset_add_sample(d, &s); /* a repeat stays one */
    s.flags = RT_FLAG_FAILED | 1u << 30, s.latency_us = NAN, s.group = -1, s.device = 0, s.kernel = -1;
    rt_dataset_add_sample(d, &s);
    rt_workload_init(&w);
    w.model = rt_strings_add(&d->texts, "gpt, large", 10), w.option = rt_strings_add(&d->texts, "", 0);
    w.device = 0, w.group = 0, w.batch = 8, w.sequence = 2048, w.layers = 24, w.mode = RT_TRAINING,
    w.dtype = RT_BF16;
    w.end_to_end_us = 123.456789012345678;
    rt_dataset_add_workload(d, &w);
    w.kernels_forward_us = 1.0 / 3, w.kernels_backward_us = 2.0 / 3;
    w.option = -1;
    rt_dataset_add_workload(d, &w);
    free(d->source);
    d->source = rt_strdup("a \"source\", with\nlines");
    rt_dataset_stamp(d);
}

static void test_awkward_round_trip(void)
{
    struct rt_dataset dataset;
    make_awkward(&dataset);
    check_round_trip(&dataset);
    rt_dataset_release(&dataset);
}

/* What is written reads again where the program has set a locale with a decimal comma. */
static void test_comma_round_trip(void)
{
    if (!rt_test_comma_locale())
        return;
    test_awkward_round_trip();
    setlocale(LC_ALL, "C");
}

static void test_empty_round_trip(void)
{
    struct rt_dataset dataset, back;
    struct rt_import_report report;
    rt_dataset_init(&dataset);
    rt_dataset_stamp(&dataset);
    RT_ASSERT_OK(rt_export_csv(&dataset, rt_test_path("nothing"), NULL));
    RT_ASSERT_FAILS(import("csv", rt_test_path("nothing"), &back, &report), RT_EFORMAT, "nothing to import");
    rt_import_report_release(&report);
    rt_dataset_release(&dataset);
}

/* What is edited is another dataset: a new uuid, a new date. */
static void test_edited(void)
{
    struct rt_dataset dataset, back;
    struct rt_import_report report;
    RT_ASSERT_OK(import("aiconfigurator", MINI "aiconfigurator_mini", &dataset, &report));
    rt_import_report_release(&report);
    free(dataset.created);
    dataset.created = rt_strdup("2001-02-03T04:05:06Z");
    RT_ASSERT_OK(rt_export_csv(&dataset, rt_test_path("edited"), NULL));
    RT_ASSERT_OK(import("csv", rt_test_path("edited"), &back, &report));
    CU_ASSERT_STRING_EQUAL(back.created, "2001-02-03T04:05:06Z");
    rt_import_report_release(&report);
    rt_dataset_release(&back);
    FILE *file = fopen(rt_test_path("edited/samples.csv"), "a");
    fputs("gemm,bf16,forward,none,NVIDIA H200,,1,2,3,,,,,,,,,,,,5.5,,,,,,,,,,,,,,,,,,,,,,,,,\n", file);
    fputs("gemm,bf16,forward,none,NVIDIA H100 80GB HBM3,,1,2,3,,,,,,,,,,,,5.5,,,,,,,,,,,,,,,,,,,,,,,,,\n",
          file);
    fclose(file);
    RT_ASSERT_OK(import("csv", rt_test_path("edited"), &back, &report));
    CU_ASSERT_EQUAL(back.samples.count, dataset.samples.count + 1);
    CU_ASSERT_EQUAL_FATAL(report.refused.count, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(report.refused.text[0], "unknown GPU \"NVIDIA H200\": devices.csv"));
    CU_ASSERT_STRING_NOT_EQUAL(back.uuid, dataset.uuid);
    CU_ASSERT_STRING_NOT_EQUAL(back.created, "2001-02-03T04:05:06Z");
    rt_import_report_release(&report);
    rt_dataset_release(&back);
    rt_dataset_release(&dataset);
}

#define DEVICES                                                                                              \
    "name,sms,cores_per_sm,clock_mhz,fp32_vector_tflops,memory_gib,bandwidth_gbs,l2_mib\nMine,10,64,1000,1." \
    "28,8,100,4\n"

/* A folder by hand: only the columns that say something. */
static void test_by_hand(void)
{
    struct rt_dataset d;
    struct rt_import_report report;
    mkdir(rt_test_path("hand"), 0777);
    rt_test_write("hand/devices.csv", DEVICES);
    rt_test_write("hand/samples.csv",
                  "op,dtype,device,latency_us,dim0,dim1,kernel\nadd,fp32,Mine,1.5,8,16,my_add\n");
    RT_ASSERT_OK(import("csv", rt_test_path("hand"), &d, &report));
    CU_ASSERT_TRUE(d.samples.count == 1 && RT_SAMPLE(&d, 0)->call.op == RT_OP_ADD &&
                   RT_SAMPLE(&d, 0)->call.dim[1] == 16);
    CU_ASSERT_TRUE(isnan(RT_SAMPLE(&d, 0)->energy_mj) && RT_SAMPLE(&d, 0)->count == -1 &&
                   RT_SAMPLE(&d, 0)->group == -1);
    CU_ASSERT_STRING_EQUAL(rt_strings_get(&d.kernels, RT_SAMPLE(&d, 0)->kernel), "my_add");
    rt_import_report_release(&report);
    rt_dataset_release(&d);
}

/* Wrong rows of samples.csv are refused with file and line; wrong files end the import. */
static void test_bad_csv(void)
{
    static const struct {
        const char *name, *text, *words;
    } cases[] = {
        {"samples.csv", "op,dtype,device,latency_us,dim0,dim1\nadd,fp32,Mine,-1,8,16\n",
         "samples.csv:2: latency_us is -1"},
        {"samples.csv", "op,dtype,device,latency_us,dim0,dim1\nadd,fp32,Mine,,8,16\n",
         "samples.csv:2: latency_us is "},
        {"samples.csv", "op,dtype,device,latency_us,dim0,dim1\nadd,fp32,Mine,nan,8,16\n",
         "latency_us is \"nan\""},
        {"samples.csv", "op,dtype,device,latency_us,dim0,dim1\nadd,fp32,Mine,1,8,x\n", "dim1 is \"x\""},
        {"samples.csv", "op,dtype,device,latency_us,dim0,dim1\nadd,fp32,Mine,1,8,\n", "cols is -1"},
        {"samples.csv", "op,dtype,device,latency_us,dim0,dim1\nsub,fp32,Mine,1,8,8\n", "op is \"sub\""},
        {"samples.csv", "op,dtype,device,latency_us,dim0,dim1\nadd,fp31,Mine,1,8,8\n", "dtype is \"fp31\""},
        {"samples.csv", "op,dtype,device,latency_us,dim0,dim1\nadd,fp32,Mine,1,8\n",
         "has 5 columns where the header has 6"},
        {"samples.csv", "op,dtype,device,latency_us,dim0,dim1,flags\nadd,fp32,Mine,1,8,8,slow\n",
         "flags is \"slow\""},
        {"samples.csv", "op,dtype,device,latency_us,dim0,dim1,group\nadd,fp32,Mine,1,8,8,3\n",
         "group is 3, but groups.csv has 0"},
        {"samples.csv", "op,dtype,device,latency_us,dim0,dim1,grid0\nadd,fp32,Mine,1,8,8,3000000000\n",
         "grid0 is \"3000000000\""},
        {"samples.csv", "op,dtype,device,latency_us,diml\nadd,fp32,Mine,1,8\n",
         "no column is called \"diml\""},
        {"samples.csv", "op,dtype,device\nadd,fp32,Mine\n", "has no column \"latency_us\""},
        {"samples.csv", "", "samples.csv: is empty"},
        {"devices.csv", "name,sms\nMine,10\n", "devices.csv:2: \"fp32_vector_tflops\" of Mine is missing"},
        {"devices.csv", "name,sms\nMine,ten\n", "devices.csv:2: sms is \"ten\""},
        {"devices.csv", DEVICES "mine,10,64,1000,1.28,8,100,4\n", "device \"mine\" is described twice"},
        {"groups.csv", "group,name,value\n1,a,b\n", "groups.csv:2: group is \"1\""},
        {"groups.csv", "group,name,value\n0,a,b\n1,a,b\n", "groups 0 and 1 are the same"},
        {"groups.csv", "name,group,value\n0,a,b\n", "groups.csv:1: column 1 must be \"group\""},
        {"strings.csv", "table,text\nwords,a\n", "table is \"words\""},
        {"meta.csv", "name,value\nversion,99\n", "version 99, this build reads versions 1 to 4"},
        {"meta.csv", "name,value\nformat,cake\n", "format is \"cake\""},
        {"samples.csv", "op,dtype,device,latency_us,dim0,dim1\nadd,fp32,Mine,1e-300,8,8\n",
         "samples.csv:2: latency_us is 1e-300; it must be a time that a clock can give"},
        {"samples.csv", "op,dtype,device,latency_us,dim0,dim1\nadd,fp32,Mine,1e300,8,8\n",
         "samples.csv:2: latency_us is 1e+300"},
        {"samples.csv", "op,dtype,device,latency_us,dim0,dim1,count\nadd,fp32,Mine,1,8,8,0\n",
         "samples.csv:2: count is 0; it must be a whole number of 1 or more"},
        {"workloads.csv", "model,device,mode,dtype,layers,end_to_end_us\nm,Mine,inference,fp32,90000000,5\n",
         "workloads.csv:2: layers is 90000000; it must be a whole number of 1..65536"},
        {"samples.csv", "op,dtype,device,latency_us,dim0,dim1\nadd,fp32,,1,8,8\n",
         "samples.csv:2: has no device"},
        {"samples.csv", "op,dtype,device,latency_us,dim0,dim1\n,fp32,Mine,1,8,8\n",
         "samples.csv:2: has no op"},
        {"workloads.csv", "model,device,mode,dtype,end_to_end_us\nm,,inference,fp32,5\n",
         "workloads.csv:2: has no device"},
        {"workloads.csv", "model,device,mode,dtype,end_to_end_us\n,Mine,inference,fp32,5\n",
         "workloads.csv:2: has no model"},
    };
    for (size_t i = 0; i < RT_COUNT(cases); i++) {
        char folder[64], name[96];
        struct rt_dataset d;
        struct rt_import_report report;
        snprintf(folder, sizeof folder, "bad%zu", i);
        mkdir(rt_test_path(folder), 0777);
        snprintf(name, sizeof name, "%s/devices.csv", folder);
        rt_test_write(name, DEVICES);
        snprintf(name, sizeof name, "%s/%s", folder, cases[i].name);
        rt_test_write(name, cases[i].text);
        RT_ASSERT_FAILS(import("csv", rt_test_path(folder), &d, &report), i == 21 ? RT_EVERSION : RT_EFORMAT,
                        cases[i].words);
        rt_import_report_release(&report);
    }
    struct rt_dataset d;
    struct rt_import_report report;
    RT_ASSERT_FAILS(import("csv", rt_test_path("absent"), &d, &report), RT_EIO,
                    "is not a folder that can be read");
}

static void test_unwritable(void)
{
    struct rt_dataset dataset;
    make_awkward(&dataset);
    const char *file = rt_test_write("file", "x");
    char below[600];
    snprintf(below, sizeof below, "%s/below", file);
    RT_ASSERT_FAILS(rt_export_csv(&dataset, below, NULL), RT_EIO, "cannot be made");
    RT_ASSERT_FAILS(rt_export_csv(&dataset, file, NULL), RT_EIO, "cannot be written");
    dataset.devices[1] = dataset.devices[0];
    RT_ASSERT_FAILS(rt_export_csv(&dataset, rt_test_path("twins"), NULL), RT_EFORMAT, "is described twice");
    rt_dataset_release(&dataset);
}

RT_TESTS(RT_TEST(test_imports_round_trip), RT_TEST(test_awkward_round_trip), RT_TEST(test_comma_round_trip),
         RT_TEST(test_empty_round_trip), RT_TEST(test_edited), RT_TEST(test_by_hand), RT_TEST(test_bad_csv),
         RT_TEST(test_unwritable))
