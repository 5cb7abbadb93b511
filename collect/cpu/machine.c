/* What the operating system reports about the CPU. See machine.h. */
#include "collect/cpu/machine.h"
#include "base/file.h"
#include "base/status.h"

#include <ctype.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { TEXT_LIMIT = 1 << 26 }; /* bytes of /proc/cpuinfo: a few KiB per CPU */

static void copy_squeezed(const char *from, size_t length, char *to, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < length && used + 1 < size; i++) {
        bool blank = isspace((unsigned char)from[i]);
        if (!blank)
            to[used++] = from[i];
        else if (used > 0 && to[used - 1] != ' ')
            to[used++] = ' ';
    }
    while (used > 0 && to[used - 1] == ' ')
        used--;
    to[used] = '\0';
}

bool rt_cpuinfo_value(const char *text, const char *key, char *value, size_t size)
{
    size_t length = strlen(key);
    for (const char *line = text; line != NULL && *line; line = strchr(line, '\n'), line += line != NULL) {
        const char *at = line + length;
        if (strncmp(line, key, length) != 0)
            continue;
        at += strspn(at, " \t");
        if (*at != ':')
            continue;
        copy_squeezed(at + 1, strcspn(at + 1, "\n"), value, size);
        return value[0] != '\0';
    }
    return false;
}

/* A small file's first number, -1 where there is none; *suffix is the character behind it, NUL where there is
 * none. */
static double read_number(const char *path, char *suffix)
{
    char *text, *end;
    size_t size;
    *suffix = '\0';
    if (rt_file_read(path, TEXT_LIMIT, &text, &size) != RT_OK)
        return -1;
    double value = strtod(text, &end);
    if (end == text)
        value = -1;
    *suffix = *end;
    free(text);
    return value;
}

/* The highest cache level that /sys lists for CPU 0; 0 where it lists none. */
static size_t read_cache(void)
{
    double best_level = 0, best = 0;
    for (int i = 0; i < 16; i++) {
        char path[128], unit;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
        double level = read_number(path, &unit);
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        double bytes = read_number(path, &unit);
        bytes *= unit == 'K' ? 1 << 10 : unit == 'M' ? 1 << 20 : 1;
        if (level > best_level && bytes > 0) {
            best_level = level;
            best = bytes;
        }
    }
    if (best > 0)
        return (size_t)best;
    long said = sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (said <= 0)
        said = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return said > 0 ? (size_t)said : 0;
}

static double read_clock(const char *cpuinfo)
{
    char unit, value[64];
    double khz = read_number("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", &unit);
    if (khz > 0)
        return khz / 1000;
    if (rt_cpuinfo_value(cpuinfo, "cpu MHz", value, sizeof value) && strtod(value, NULL) > 0)
        return strtod(value, NULL);
    return NAN;
}

static int usable_threads(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN); /* more CPUs than a cpu_set_t holds */
    return online > 0 ? (int)online : 1;
}

void rt_cpu_machine_read(struct rt_cpu_machine *out)
{
    static const struct {
        const char *id, *name;
    } vendors[] = {{"AuthenticAMD", "AMD"}, {"GenuineIntel", "Intel"}, {"HygonGenuine", "Hygon"}};
    char *text = NULL, id[64] = "";
    size_t size;
    struct utsname kernel;
    struct sysinfo system;
    *out = (struct rt_cpu_machine){.threads = usable_threads(), .clock_mhz = NAN};
    if (uname(&kernel) == 0)
        copy_squeezed(kernel.machine, strlen(kernel.machine), out->architecture, sizeof out->architecture);
    if (rt_file_read("/proc/cpuinfo", TEXT_LIMIT, &text, &size) != RT_OK)
        text = rt_strdup("");
    if (!rt_cpuinfo_value(text, "model name", out->model, sizeof out->model))
        strcpy(out->model, out->architecture);
    rt_cpuinfo_value(text, "vendor_id", id, sizeof id);
    for (size_t i = 0; i < RT_COUNT(vendors); i++)
        if (strcmp(vendors[i].id, id) == 0)
            strcpy(out->vendor, vendors[i].name);
    out->clock_mhz = read_clock(text);
    free(text);
    out->cache_bytes = read_cache();
    out->cache_known = out->cache_bytes > 0;
    if (!out->cache_known)
        out->cache_bytes = RT_CPU_CACHE_ASSUMED;
    out->memory_bytes = sysinfo(&system) == 0 ? (double)system.totalram * system.mem_unit : 0x1p30;
}
