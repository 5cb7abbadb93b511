/*
 * How long does a training step of a model take on GPUs that are not in the room?
 *
 *   cc forecast.c $(pkg-config --cflags --libs rooftile) -o forecast
 *   ./forecast pretrained gpt3-2.7b A100-PCIE-40GB H100 H200
 *   ./forecast roofline path/to/config.json V100-PCIE-32GB       a lower bound, without a predictor
 */
#include <rooftile.h>

#include <stdio.h>

/* 2 sequences of 512 tokens on one GPU, with AdamW. */
static int print_forecast(const rooftile_predictor *predictor, const rooftile_model *model, const char *gpu)
{
    rooftile_device *device = NULL;
    rooftile_forecast *forecast = NULL;
    struct rooftile_totals totals;
    struct rooftile_step step;
    rooftile_step_init(&step);
    step.mode = "training";
    step.optimizer = "adamw";
    step.batch = 2;
    int status = rooftile_device_find(gpu, &device);
    if (status == 0 && (status = rooftile_forecast_step(predictor, device, model, &step, &forecast)) == 0) {
        rooftile_forecast_totals(forecast, &totals);
        printf("%-28s %10.2f ms   forward %.2f, backward %.2f; %.1f GiB%s\n", rooftile_device_name(device),
               totals.time_ms, totals.forward_ms, totals.backward_ms, totals.memory_gib,
               totals.memory_gib > totals.device_memory_gib ? ": does not fit" : "");
    }
    rooftile_forecast_free(forecast);
    rooftile_device_free(device);
    return status;
}

int main(int argc, char **argv)
{
    rooftile_predictor *predictor = NULL;
    rooftile_model *model = NULL;
    if (argc < 4) {
        fprintf(stderr, "usage: forecast PREDICTOR MODEL GPU...\n");
        return 2;
    }
    int status = rooftile_predictor_open(argv[1], &predictor);
    if (status == 0)
        status = rooftile_model_find(argv[2], &model);
    for (int i = 3; status == 0 && i < argc; i++)
        status = print_forecast(predictor, model, argv[i]);
    if (status != 0)
        fprintf(stderr, "forecast: %s\n", rooftile_error());
    rooftile_model_free(model);
    rooftile_predictor_free(predictor);
    return status == 0 ? 0 : 1;
}
