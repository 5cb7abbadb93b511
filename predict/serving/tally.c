/* Means and percentiles of many values. See tally.h. */
#include "predict/serving/tally.h"
#include "base/array.h"
#include "base/status.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Bins of values from 2^-20 to 2^60: the exponent and the 10 highest bits of the fraction of a double. */
enum { FRACTION_BITS = 10, LOWEST = -20, HIGHEST = 60, BINS = (HIGHEST - LOWEST) << FRACTION_BITS };

static size_t bin_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int64_t bin = (int64_t)(bits >> (52 - FRACTION_BITS)) - ((int64_t)(1023 + LOWEST) << FRACTION_BITS);
    return bin < 0 ? 0 : bin >= BINS ? BINS - 1 : (size_t)bin;
}

/* Where a bin begins; the first begins at 0. */
static double bin_least(size_t bin)
{
    uint64_t bits = (uint64_t)((int64_t)bin + ((int64_t)(1023 + LOWEST) << FRACTION_BITS))
                    << (52 - FRACTION_BITS);
    double value;
    memcpy(&value, &bits, sizeof value);
    return bin == 0 ? 0 : value;
}

static void note(struct rt_tally *tally, double least, double most, double sum, double weight)
{
    tally->least = tally->weight > 0 ? fmin(tally->least, least) : least;
    tally->most = tally->weight > 0 ? fmax(tally->most, most) : most;
    tally->weight += weight;
    tally->sum += sum;
}

static void put_into_bins(struct rt_tally *tally)
{
    tally->bin = rt_calloc(BINS, sizeof *tally->bin);
    for (size_t i = 0; i < tally->entries; i++)
        tally->bin[bin_of(tally->entry[i].value)] += tally->entry[i].weight;
    free(tally->entry);
    tally->entry = NULL;
    tally->entries = tally->capacity = 0;
}

/* Room for `more` entries; false: they go into bins. */
static bool has_room(struct rt_tally *tally, size_t more)
{
    if (tally->bin != NULL)
        return false;
    if (tally->entries + more > RT_TALLY_EXACT) {
        put_into_bins(tally);
        return false;
    }
    RT_GROW(tally->entry, tally->entries, more, tally->capacity);
    return true;
}

void rt_tally_add(struct rt_tally *tally, double value, double weight)
{
    if (has_room(tally, 1))
        tally->entry[tally->entries++] = (struct rt_tally_entry){value, weight};
    else
        tally->bin[bin_of(value)] += weight;
    note(tally, value, value, value * weight, weight);
}

/* All of a run that falls into the bin of its next value, then the rest. */
static void add_run_to_bins(struct rt_tally *tally, double first, double slope, size_t count, double weight)
{
    for (size_t i = 0; i < count;) {
        size_t bin = bin_of(first + slope * (double)i), next = count;
        if (slope > 0 && bin + 1 < BINS)
            next = (size_t)fmin((double)count,
                                fmax((double)(i + 1), ceil((bin_least(bin + 1) - first) / slope)));
        else if (slope < 0)
            next = i + 1;
        tally->bin[bin] += weight * (double)(next - i);
        i = next;
    }
}

void rt_tally_add_run(struct rt_tally *tally, double first, double slope, size_t count, double weight)
{
    if (count == 0)
        return;
    double last = first + slope * (double)(count - 1);
    if (slope == 0) {
        rt_tally_add(tally, first, weight * (double)count);
        return;
    }
    if (has_room(tally, count))
        for (size_t i = 0; i < count; i++)
            tally->entry[tally->entries++] = (struct rt_tally_entry){first + slope * (double)i, weight};
    else
        add_run_to_bins(tally, first, slope, count, weight);
    note(tally, fmin(first, last), fmax(first, last), (first + last) / 2 * (double)count * weight,
         weight * (double)count);
}

double rt_tally_mean(const struct rt_tally *tally)
{
    return tally->weight > 0 ? fmin(fmax(tally->sum / tally->weight, tally->least), tally->most) : NAN;
}

static int by_value(const void *a, const void *b)
{
    double x = ((const struct rt_tally_entry *)a)->value, y = ((const struct rt_tally_entry *)b)->value;
    return (x > y) - (x < y);
}

/* The value of that rank, from 0. Values of a bin lie evenly in it. */
static double at_rank(const struct rt_tally *tally, double rank)
{
    double below = 0;
    for (size_t i = 0; i < tally->entries; i++)
        if ((below += tally->entry[i].weight) > rank)
            return tally->entry[i].value;
    below = 0;
    for (size_t b = 0; tally->bin != NULL && b < BINS; b++) {
        double weight = tally->bin[b], least = bin_least(b);
        if (below + weight > rank) {
            double value = least + (bin_least(b + 1) - least) * (rank - below + 0.5) / weight;
            return fmin(fmax(value, tally->least), tally->most);
        }
        below += weight;
    }
    return tally->most;
}

double rt_tally_percentile(struct rt_tally *tally, double share)
{
    if (!(tally->weight > 0))
        return NAN;
    if (tally->bin == NULL)
        qsort(tally->entry, tally->entries, sizeof *tally->entry, by_value);
    double rank = share * (tally->weight - 1), low = floor(rank), part = rank - low;
    double value = at_rank(tally, low);
    return part > 0 ? value + part * (at_rank(tally, low + 1) - value) : value;
}

void rt_tally_release(struct rt_tally *tally)
{
    free(tally->entry);
    free(tally->bin);
    *tally = (struct rt_tally){0};
}
