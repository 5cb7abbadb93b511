/* What a terminal can do. See terminal.h. */
#include "base/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LEAST_COLUMNS = 20, MOST = 10000 };

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0';
}

static int size_of(const char *name, int otherwise)
{
    const char *value = getenv(name);
    char *end = NULL;
    long number = value != NULL ? strtol(value, &end, 10) : 0;
    return number > 0 && number <= MOST && *end == '\0' ? (int)number : otherwise;
}

struct rt_terminal rt_terminal_of(FILE *file)
{
    struct rt_terminal terminal = {0};
    struct winsize size = {0};
    int descriptor = fileno(file); /* -1 of a stream in memory */
    if (descriptor < 0 || !isatty(descriptor))
        return terminal;
    terminal.controls = is_set("TERM") && strcmp(getenv("TERM"), "dumb") != 0;
    terminal.colour = terminal.controls && !is_set("NO_COLOR");
    if (ioctl(descriptor, TIOCGWINSZ, &size) != 0)
        size = (struct winsize){0};
    terminal.columns = size_of("COLUMNS", size.ws_col);
    terminal.rows = size_of("LINES", size.ws_row);
    return terminal;
}

int rt_terminal_width(const struct rt_terminal *terminal, int width)
{
    int columns = terminal->columns > LEAST_COLUMNS ? terminal->columns : LEAST_COLUMNS;
    return terminal->columns > 0 && columns < width ? columns : width;
}

const char *rt_terminal_style(const struct rt_terminal *terminal, enum rt_style style)
{
    static const char *const begin[] = {[RT_STYLE_NONE] = "\033[0m",
                                        [RT_STYLE_BOLD] = "\033[1m",
                                        [RT_STYLE_DIM] = "\033[2m",
                                        [RT_STYLE_YELLOW] = "\033[33m",
                                        [RT_STYLE_RED] = "\033[31m"};
    return terminal->colour ? begin[style] : "";
}
