/* The command table. See commands.h. */
#include "commands.h"
#include "base/status.h"
#include "base/version.h"

/* Each is at the end of its cmd_NAME.c. */
extern const struct rt_command rt_command_collect, rt_command_dataset, rt_command_devices, rt_command_graph,
    rt_command_train, rt_command_calibrate, rt_command_predict, rt_command_evaluate, rt_command_crossval,
    rt_command_explore, rt_command_advise, rt_command_pack, rt_command_serve, rt_command_plan,
    rt_command_card, rt_command_completion;

static const struct rt_command *const commands[] = {
    &rt_command_collect,  &rt_command_dataset,   &rt_command_devices, &rt_command_graph,
    &rt_command_train,    &rt_command_calibrate, &rt_command_predict, &rt_command_evaluate,
    &rt_command_crossval, &rt_command_explore,   &rt_command_advise,  &rt_command_pack,
    &rt_command_serve,    &rt_command_plan,      &rt_command_card,    &rt_command_completion,
};

const struct rt_command rt_program = {
    .about =
        "rooftile " RT_VERSION ": forecasts how long deep-learning work takes on GPUs nobody in the room has",
    .details =
        "`rooftile COMMAND --help` explains each. Start with:\n"
        "  rooftile predict --gpu H200 --model gpt3-2.7b --batch 2 --seq 2048\n"
        "  rooftile collect -o cpu.h5 --budget 60s\n"
        "  rooftile train cpu.h5 -o predictor.h5\n"
        "  rooftile evaluate --predictor predictor.h5 cpu.h5\n\n"
        "No command writes onto a file that it reads, nor onto a file of another kind: a dataset replaces a "
        "dataset only, a predictor a predictor, a timeline a timeline, an export an export, a report any "
        "text. "
        "And these only with --overwrite.",
    .commands = commands,
    .command_count = RT_COUNT(commands),
};
