/* Profiles of slices and the devices they make. See mig.h. */
#include "datasets/mig.h"
#include "base/status.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* --- rows of a device file --- */

static const struct {
    const char *key;
    size_t offset;
    int least, most;
} counts[] = {
    {"slices", offsetof(struct rt_mig_profile, slices), 1, 8},
    {"memory_slices", offsetof(struct rt_mig_profile, memory_slices), 1, 8},
    {"copy_engines", offsetof(struct rt_mig_profile, copy_engines), 0, 64},
    {"most", offsetof(struct rt_mig_profile, most), 1, 8},
};

static int read_counts(const json_t *row, const char *where, size_t i, struct rt_mig_profile *out)
{
    for (size_t c = 0; c < RT_COUNT(counts); c++) {
        const json_t *value = json_object_get(row, counts[c].key);
        json_int_t number = json_integer_value(value);
        if (!json_is_integer(value) || number < counts[c].least || number > counts[c].most)
            return rt_fail(RT_EFORMAT, "%s: \"%s\" of row %zu of \"mig\" must be an integer in %d..%d", where,
                           counts[c].key, i, counts[c].least, counts[c].most);
        *(int *)((char *)out + counts[c].offset) = (int)number;
    }
    return RT_OK;
}

static int read_placements(const json_t *row, const char *where, size_t i, struct rt_mig_profile *out)
{
    const json_t *list = json_object_get(row, "placements"), *value;
    size_t p;
    if (!json_is_array(list) || json_array_size(list) < 1 || json_array_size(list) > RT_MIG_PLACES)
        return rt_fail(RT_EFORMAT, "%s: \"placements\" of row %zu of \"mig\" must be 1 to %d integers", where,
                       i, RT_MIG_PLACES);
    json_array_foreach(list, p, value)
    {
        json_int_t start = json_integer_value(value);
        if (!json_is_integer(value) || start < 0 || start >= RT_MIG_PLACES)
            return rt_fail(RT_EFORMAT, "%s: \"placements\" of row %zu of \"mig\" must be integers in 0..%d",
                           where, i, RT_MIG_PLACES - 1);
        out->placements[out->placement_count++] = (int)start;
    }
    return RT_OK;
}

static int read_row(const json_t *row, const char *where, size_t i, struct rt_mig *mig)
{
    struct rt_mig_profile profile = {0};
    const char *name = json_string_value(json_object_get(row, "name"));
    if (name == NULL || name[0] == '\0' || strlen(name) >= sizeof profile.name ||
        strpbrk(name, ":,=") != NULL)
        return rt_fail(RT_EFORMAT, "%s: \"name\" of row %zu of \"mig\" must be a text such as \"1g.5gb\"",
                       where, i);
    if (rt_mig_profile_named(mig, name) != NULL)
        return rt_fail(RT_EFORMAT, "%s: \"mig\" has two rows of \"%s\"", where, name);
    strcpy(profile.name, name);
    int status = read_counts(row, where, i, &profile);
    if (status == RT_OK)
        status = read_placements(row, where, i, &profile);
    profile.sms = json_number_value(json_object_get(row, "sms"));
    profile.memory_gib = json_number_value(json_object_get(row, "memory_gib"));
    if (status == RT_OK && !(profile.sms >= 1 && profile.memory_gib > 0))
        status = rt_fail(RT_EFORMAT, "%s: \"sms\" and \"memory_gib\" of row %zu of \"mig\" must be positive",
                         where, i);
    if (status == RT_OK)
        mig->profile[mig->count++] = profile;
    return status;
}

/* No instance reaches over the board's memory slices. */
static int check_placements(const struct rt_mig *mig, const char *where)
{
    for (int i = 0; i < mig->count; i++)
        for (int p = 0; p < mig->profile[i].placement_count; p++)
            if (mig->profile[i].placements[p] + mig->profile[i].memory_slices > mig->memory_slices)
                return rt_fail(RT_EFORMAT,
                               "%s: a \"%s\" at %d reaches over the %d memory slices that \"mig\" has", where,
                               mig->profile[i].name, mig->profile[i].placements[p], mig->memory_slices);
    return RT_OK;
}

int rt_mig_read(const json_t *rows, const char *where, struct rt_mig *out)
{
    struct rt_mig mig = {0};
    const json_t *row;
    size_t i;
    int status = RT_OK;
    if (rows != NULL && (!json_is_array(rows) || json_array_size(rows) > RT_MIG_PROFILES))
        return rt_fail(RT_EFORMAT, "%s: \"mig\" must be an array of at most %d profiles", where,
                       RT_MIG_PROFILES);
    json_array_foreach(rows, i, row)
    {
        if (status == RT_OK)
            status = read_row(row, where, i, &mig);
    }
    for (int p = 0; p < mig.count; p++)
        if (mig.profile[p].memory_slices > mig.memory_slices)
            mig.memory_slices = mig.profile[p].memory_slices;
    if (status == RT_OK)
        status = check_placements(&mig, where);
    if (status == RT_OK)
        *out = mig;
    return status;
}

json_t *rt_mig_json(const struct rt_mig *mig)
{
    json_t *rows = json_array();
    for (int i = 0; i < mig->count; i++) {
        const struct rt_mig_profile *profile = &mig->profile[i];
        json_t *row = json_pack("{s:s, s:f, s:f}", "name", profile->name, "sms", profile->sms, "memory_gib",
                                profile->memory_gib);
        json_t *placements = json_array();
        for (size_t c = 0; c < RT_COUNT(counts); c++)
            json_object_set_new(row, counts[c].key,
                                json_integer(*(const int *)((const char *)profile + counts[c].offset)));
        for (int p = 0; p < profile->placement_count; p++)
            json_array_append_new(placements, json_integer(profile->placements[p]));
        json_object_set_new(row, "placements", placements);
        json_array_append_new(rows, row);
    }
    return rows;
}

/* --- names --- */

const struct rt_mig_profile *rt_mig_profile_named(const struct rt_mig *mig, const char *name)
{
    const char *plain = strncasecmp(name, "MIG ", 4) == 0 ? name + 4 : name;
    for (int i = 0; i < mig->count; i++)
        if (strcasecmp(mig->profile[i].name, plain) == 0)
            return &mig->profile[i];
    return NULL;
}

char *rt_mig_profile_names(const struct rt_mig *mig)
{
    struct rt_text names = {0};
    for (int i = 0; i < mig->count; i++)
        rt_text_item(&names, ", ", "%s", mig->profile[i].name);
    return rt_text_take(&names);
}

/* --- placements --- */

static unsigned slices_at(const struct rt_mig_profile *profile, int start)
{
    return ((1U << profile->memory_slices) - 1) << start;
}

/* Places profiles[at ...] beside what is `taken` (a bit for each memory slice). */
static bool place_rest(const struct rt_mig *mig, const int *profiles, int count, int at, unsigned taken,
                       int *starts)
{
    if (at == count)
        return true;
    const struct rt_mig_profile *profile = &mig->profile[profiles[at]];
    for (int p = 0; p < profile->placement_count; p++) {
        unsigned wanted = slices_at(profile, profile->placements[p]);
        if ((taken & wanted) != 0 || !place_rest(mig, profiles, count, at + 1, taken | wanted, starts))
            continue;
        if (starts != NULL)
            starts[at] = profile->placements[p];
        return true;
    }
    return false;
}

bool rt_mig_place(const struct rt_mig *mig, const int *profiles, int count, int *starts)
{
    int used[RT_MIG_PROFILES] = {0};
    for (int i = 0; i < count; i++)
        if (++used[profiles[i]] > mig->profile[profiles[i]].most)
            return false;
    return place_rest(mig, profiles, count, 0, 0, starts);
}

/* --- the device --- */

bool rt_mig_is_slice(const struct rt_device *device)
{
    return device->whole[0] != '\0' && strchr(device->name, ':') != NULL;
}

void rt_mig_slice(const struct rt_device *board, const struct rt_mig *mig,
                  const struct rt_mig_profile *profile, struct rt_device *out)
{
    struct rt_device slice = *board;
    double share = (double)profile->memory_slices / mig->memory_slices;
    snprintf(slice.whole, sizeof slice.whole, "%s", board->name);
    snprintf(slice.name, sizeof slice.name, "%.*s:%s", (int)(sizeof slice.name - sizeof profile->name - 1),
             board->name, profile->name);
    for (size_t f = 0; f < rt_device_field_count; f++)
        if (rt_device_fields[f].peak)
            *rt_device_value(&slice, f) *= profile->sms / board->sms;
    slice.sms = profile->sms;
    slice.slice_of.sms = board->sms;
    slice.slice_of.memory = share;
    slice.memory_gib = fmin(profile->memory_gib, board->memory_gib);
    slice.bandwidth_gbs *= share;
    slice.l2_mib *= share;
    slice.link_gbs = slice.host_link_gbs = rt_device_host_link_gbs(board);
    slice.link_peers = slice.bridge_gbs = NAN;
    *out = slice;
}
