/* The command table, and the command that shells ask for what may be typed (base/completion.h). See
 * commands.h. */
#include "commands.h"
#include "base/completion.h"
#include "base/status.h"
#include "base/version.h"

#include <string.h>

/* ---- completion ---- */

struct arguments {
    struct rt_names words;
};

static int run(const struct rt_command_line *line)
{
    const struct rt_names *words = &((const struct arguments *)line->options)->words;
    if (strcmp(words->name[0], "words") != 0)
        return rt_completion_script(words->name[0], stdout);
    rt_completion_words(&rt_program, words->name + 1, words->count - 1, stdout);
    return RT_OK;
}

static const struct rt_command completion = {
    .name = "completion",
    .operands_usage = "bash|fish|zsh",
    .about = "Prints the script that completes rooftile's commands, options and names in that shell.",
    .details = "Now, in bash: source <(rooftile completion bash)\n"
               "In zsh: source <(rooftile completion zsh)\n"
               "In fish: rooftile completion fish | source",
    .size = sizeof(struct arguments),
    .operands = RT_OPERANDS(struct arguments, words, 1, RT_MANY, "a shell: bash, fish or zsh"),
    .run = run,
};

/* ---- commands ---- */

/* Each is at the end of its cmd_NAME.c. */
extern const struct rt_command rt_command_collect, rt_command_dataset, rt_command_devices, rt_command_graph,
    rt_command_train, rt_command_calibrate, rt_command_predict, rt_command_evaluate, rt_command_crossval,
    rt_command_explore, rt_command_advise, rt_command_pack, rt_command_simulate, rt_command_serve,
    rt_command_plan, rt_command_card, rt_command_compare, rt_command_web;

static const struct rt_command *const commands[] = {
    &rt_command_collect,  &rt_command_dataset,   &rt_command_devices, &rt_command_graph,
    &rt_command_train,    &rt_command_calibrate, &rt_command_predict, &rt_command_evaluate,
    &rt_command_crossval, &rt_command_explore,   &rt_command_advise,  &rt_command_pack,
    &rt_command_simulate, &rt_command_serve,     &rt_command_plan,    &rt_command_card,
    &rt_command_compare,
#ifdef ROOFTILE_PROGRAM /* librooftile serves nobody */
    &rt_command_web,
#endif

    &completion,
};

const struct rt_command rt_program = {
    .about =
        "rooftile " RT_VERSION ": forecasts how long deep-learning work takes on GPUs nobody in the room has",
    .details =
        "`rooftile COMMAND --help` explains each. Start with:\n"
        "  rooftile predict --gpu B200 --model Qwen/Qwen3.5-27B --mode decode --batch 32 --context 4096\n"
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
