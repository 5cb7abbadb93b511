/*
 * How long does a model take on GPUs that are not in the room? The library does in a loop what
 * `rooftile predict` does once.
 *
 *   cc forecast.c $(pkg-config --cflags --libs rooftile) -o forecast
 *   ./forecast predictor.h5 gpt3-2.7b A100-PCIE-40GB H100 H200
 *   ./forecast roofline path/to/config.json V100-PCIE-32GB       a lower bound, without a predictor
 */
#include <rooftile.h>

#include <math.h>
#include <stdio.h>

/* One training step of 2 sequences on one GPU, with AdamW. */
static int forecast(const struct rt_model *model, const struct rt_predictor *predictor, const char *gpu)
{
    struct rt_graph_options options = {.step = RT_STEP_TRAINING,
                                       .batch = 2,
                                       .sequence = 512,
                                       .tensor_parallel = 1,
                                       .dtype = RT_FP32,
                                       .optimizer = RT_OPTIMIZER_ADAMW};
    struct rt_forecast_options how = {
        .parallel = {.data = 1, .pipeline = 1, .microbatches = 1, .link_gbs = NAN}, .fallback = true};
    struct rt_device device;
    struct rt_graph graph;
    struct rt_forecast step;
    int status = rt_device_find(gpu, &device);
    if (status != RT_OK || (status = rt_graph_build(model, &options, &graph)) != RT_OK)
        return status;
    status = rt_forecast_graph(&graph, predictor, &device, &how, &step);
    if (status == RT_OK) {
        printf("%-28s %10.2f ms   forward %.2f, backward %.2f; %.1f GiB%s\n", device.name,
               step.total_us / 1e3, step.forward_us / 1e3, step.backward_us / 1e3,
               step.memory.total / 1073741824.0, rt_forecast_fits(&step) ? "" : ": does not fit");
        rt_forecast_release(&step);
    }
    rt_graph_release(&graph);
    return status;
}

int main(int argc, char **argv)
{
    struct rt_model model;
    struct rt_predictor predictor;
    if (argc < 4) {
        fprintf(stderr, "usage: forecast PREDICTOR MODEL GPU...\n");
        return 2;
    }
    int status = rt_model_find(argv[2], &model);
    if (status == RT_OK && (status = rt_predictor_open(argv[1], &predictor)) == RT_OK) {
        for (int i = 3; status == RT_OK && i < argc; i++)
            status = forecast(&model, &predictor, argv[i]);
        rt_predictor_release(&predictor);
    }
    if (status != RT_OK)
        fprintf(stderr, "forecast: %s\n", rt_error());
    return rt_exit_status(status);
}
