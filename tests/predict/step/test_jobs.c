/* Lists of jobs. */
#include "predict/step/jobs.h"
#include "base/status.h"
#include "test.h"

#include <math.h>

static void test_defaults_and_cells(void)
{
    struct rt_gpu_jobs jobs;
    RT_ASSERT_OK(
        rt_jobs_read(rt_test_write("jobs.csv", "model,batch,mode,latency_ms,rate,name,seq,dtype,image,input\n"
                                               "bert-base,8,inference,20,,small,64,tf32,,\n"
                                               "resnet50,32,training,,100,,,,192,pinned\n"
                                               "bert-large,,,,,,,,,\n"),
                     &jobs));
    CU_ASSERT_EQUAL_FATAL(jobs.count, 3);
    const struct rt_gpu_job *job = jobs.job;
    CU_ASSERT_STRING_EQUAL(job[0].name, "small");
    CU_ASSERT_EQUAL(job[0].settled.step.batch, 8);
    CU_ASSERT_EQUAL(job[0].settled.step.sequence, 64);
    CU_ASSERT_EQUAL(job[0].settled.graph.dtype, RT_TF32);
    CU_ASSERT_EQUAL(job[0].latency_us, 20e3);
    CU_ASSERT_TRUE(isnan(job[0].rate));
    CU_ASSERT_STRING_EQUAL(job[1].name, "resnet50");
    CU_ASSERT_EQUAL(job[1].settled.step.mode, RT_STEP_TRAINING);
    CU_ASSERT_EQUAL(job[1].settled.step.image, 192);
    CU_ASSERT_EQUAL(job[1].rate, 100);
    CU_ASSERT_TRUE(job[1].step.input == RT_TRANSFER_PINNED && job[0].step.input == RT_TRANSFER_NONE);
    CU_ASSERT_EQUAL(job[2].settled.step.batch, 1);
    CU_ASSERT_EQUAL(job[2].settled.step.sequence, rt_model_default_sequence(&job[2].source.model));
    struct rt_device device;
    struct rt_graph graph;
    RT_ASSERT_OK(rt_device_find("T4", &device));
    for (size_t j = 0; j < jobs.count; j++) {
        RT_ASSERT_OK(rt_job_graph(&job[j], &device, &graph));
        CU_ASSERT_TRUE(graph.node_count > 0);
        rt_graph_release(&graph);
    }
    rt_jobs_release(&jobs);
}

static void test_batches_to_choose_from(void)
{
    struct rt_gpu_jobs jobs;
    RT_ASSERT_OK(rt_jobs_read(rt_test_write("jobs.csv", "model,batch,mode,optimizer\n"
                                                        "bert-base,1 2;4,,\n"
                                                        "resnet18,8,training,sgd\n"),
                              &jobs));
    CU_ASSERT_EQUAL_FATAL(jobs.count, 2);
    CU_ASSERT_EQUAL(jobs.job[0].batch_count, 3);
    CU_ASSERT_EQUAL(jobs.job[0].batches[2], 4);
    CU_ASSERT_EQUAL(jobs.job[0].settled.step.batch, 1);
    CU_ASSERT_EQUAL(jobs.job[0].line, 2);
    CU_ASSERT_EQUAL(jobs.job[1].settled.step.optimizer, RT_OPTIMIZER_SGD);
    CU_ASSERT_EQUAL(jobs.job[1].line, 3);
    rt_jobs_release(&jobs);
}

static void test_refused(void)
{
    static const struct {
        const char *text, *words;
        int status;
    } bad[] = {
        {"model,batch\n", "holds no jobs", RT_EFORMAT},
        {"batch\n1\n", "needs the column model", RT_EFORMAT},
        {"model,colour\nbert-base,red\n", "has no column \"colour\"", RT_EFORMAT},
        {"model,batch\nbert-base,0\n", "a whole number above 0", RT_EFORMAT},
        {"model,batch\nbert-base,two\n", ":2: batch is \"two\"", RT_EFORMAT},
        {"model,batch\nbert-base,1 0\n", ":2: batch is \"1 0\"", RT_EFORMAT},
        {"model,batch\nbert-base,\" \"\n", "batch is", RT_EFORMAT},
        {"model,batch\nbert-base,1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n", "more than 16", RT_EFORMAT},
        {"model,optimizer\nbert-base,adamw\n", "is for mode training", RT_EFORMAT},
        {"model,latency_ms\nbert-base,-1\n", "a number above 0", RT_EFORMAT},
        {"model,mode\nbert-base,sleep\n", "one of inference", RT_EFORMAT},
        {"model,dtype\nbert-base,fp3\n", "one of fp32", RT_EFORMAT},
        {"model,image\nbert-base,224\n", "has no image", RT_EFORMAT},
        {"model,seq\nresnet50,224\n", "has no seq", RT_EFORMAT},
        {"model,batch\n,4\n", "names no model", RT_EFORMAT},
        {"model\nno-such-model\n", ":2", RT_ENOTFOUND},
    };
    struct rt_gpu_jobs jobs;
    for (size_t i = 0; i < RT_COUNT(bad); i++)
        RT_ASSERT_FAILS(rt_jobs_read(rt_test_write("jobs.csv", bad[i].text), &jobs), bad[i].status,
                        bad[i].words);
    RT_ASSERT_FAILS(rt_jobs_read("/nonexistent/jobs.csv", &jobs), RT_EIO, "jobs.csv");
}

RT_TESTS(RT_TEST(test_batches_to_choose_from), RT_TEST(test_defaults_and_cells), RT_TEST(test_refused))
