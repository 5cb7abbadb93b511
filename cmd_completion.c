/* `rooftile completion`: what shells ask, base/completion.h. */
#include "base/completion.h"
#include "base/status.h"
#include "commands.h"

#include <string.h>

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

const struct rt_command rt_command_completion = {
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
