/* Long texts through a pager. See pager.h. */
#include "base/pager.h"
#include "base/status.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool is_off;

void rt_pager_off(void)
{
    is_off = true;
}

/* Is the text longer than the screen, its last line kept for the prompt? Long lines take several. */
static bool is_long(const char *text, const struct rt_terminal *terminal)
{
    size_t rows = 0, columns = terminal->columns > 0 ? (size_t)terminal->columns : SIZE_MAX;
    for (size_t length; *text != '\0'; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        rows += 1 + (length > 0 ? (length - 1) / columns : 0);
    }
    return terminal->rows > 0 && rows >= (size_t)terminal->rows;
}

/* What the shell runs; NULL: no pager. less is looked for, so that its absence is not a message. */
static const char *pager(void)
{
    const char *named = getenv("ROOFTILE_PAGER");
    if (named == NULL)
        named = getenv("PAGER");
    if (named == NULL)
        return "command -v less >/dev/null || exit 127; exec less -FRX";
    return named[0] != '\0' && strcmp(named, "cat") != 0 ? named : NULL;
}

/* Until the pager ends, Ctrl-C is its own, and it may close its input. false: it did not start. */
static bool print_through(const char *command, const char *text)
{
    static const int signals[] = {SIGINT, SIGQUIT, SIGPIPE};
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before[RT_COUNT(signals)];
    /* A `less` of $PAGER prints colours only with -R, which $LESS may say. */
    char *line = rt_format(": \"${LESS=FRX}\"; export LESS; %s", command);
    fflush(stdout);
    FILE *pipe = popen(line, "w");
    free(line);
    if (pipe == NULL)
        return false;
    for (size_t i = 0; i < RT_COUNT(signals); i++)
        sigaction(signals[i], &ignore, &before[i]);
    fputs(text, pipe);
    int status = pclose(pipe);
    for (size_t i = 0; i < RT_COUNT(signals); i++)
        sigaction(signals[i], &before[i], NULL);
    return !(status != -1 && WIFEXITED(status) && (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127));
}

void rt_pager_print(const char *text, const struct rt_terminal *terminal)
{
    const char *command = terminal->controls && !is_off ? pager() : NULL;
    if (command == NULL || !is_long(text, terminal) || !print_through(command, text))
        fputs(text, stdout);
}
