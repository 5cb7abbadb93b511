/* Predictor files: the root and its families, as FORMAT.md describes. */
#include "base/h5_struct.h"
#include "base/outputs.h"
#include "base/status.h"
#include "base/text.h"
#include "models/predictors/predictor/predictor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct rt_output_kind rt_predictor_kind = {"a predictor", RT_PREDICTOR_FORMAT, NULL};

enum { OLDEST_VERSION = 3 };

#define ROOT(member, kind)      RT_H5_MEMBER(struct rt_predictor, member, #member, kind)
#define FIT(member, name, kind) RT_H5_MEMBER(struct rt_family_net, member, name, kind)

static const struct rt_h5_attribute root[] = {
    ROOT(kind, RT_H5_TEXT),
    ROOT(creator, RT_H5_TEXT),
    ROOT(data_uuids, RT_H5_TEXT),
    ROOT(data_sources, RT_H5_TEXT),
    ROOT(data_licences, RT_H5_TEXT),
    ROOT(devices, RT_H5_TEXT),
    ROOT(held_out_gpus, RT_H5_TEXT),
    ROOT(held_out_ops, RT_H5_TEXT),
    ROOT(calibrated, RT_H5_TEXT),
    RT_H5_MEMBER(struct rt_predictor, split.seed, "seed", RT_H5_INTEGER),
    RT_H5_MEMBER(struct rt_predictor, split.validation, "split_validation", RT_H5_REAL),
    RT_H5_MEMBER(struct rt_predictor, split.test, "split_test", RT_H5_REAL),
    ROOT(threads, RT_H5_INTEGER),
    ROOT(complete, RT_H5_BOOL),
    RT_H5_MEMBER_NAME(struct rt_predictor, target, "target", rt_targets, RT_TARGET_COUNT),
    ROOT(kept_no_test, RT_H5_BOOL),
};

/* Of all nets, whatever their forecaster. */
static const struct rt_h5_attribute net_attributes[] = {
    RT_H5_MEMBER_NAME(struct rt_family_net, units, "units", rt_units, RT_UNITS_COUNT),
    FIT(loss, "loss", RT_H5_TEXT),
    FIT(rows_train, "rows_train", RT_H5_INTEGER),
    FIT(rows_validation, "rows_validation", RT_H5_INTEGER),
    FIT(epochs, "epochs", RT_H5_INTEGER),
    FIT(best_epoch, "best_epoch", RT_H5_INTEGER),
    FIT(validation_mape, "validation_mape_percent", RT_H5_REAL),
};

/* Absent where there were none. */
static const struct rt_h5_attribute impossible = FIT(rows_impossible, "rows_impossible", RT_H5_INTEGER);

/* "/families/linear", "/families/linear.matrix" */
static void net_path(const struct rt_family_net *net, char path[static 64])
{
    snprintf(path, 64, "/families/%s", rt_net_name(net->family, net->units));
    for (char *at = path; *at != '\0'; at++)
        *at = *at == ' ' ? '.' : *at;
}

/* ---- writing ---- */

static int write_net(struct rt_h5 *file, const struct rt_family_net *net)
{
    char group[64];
    const struct rt_forecaster *forecaster = &rt_forecasters[net->forecaster];
    net_path(net, group);
    int status = rt_h5_make_group(file, group);
    if (status == RT_OK)
        status = rt_h5_set_text(file, group, "family", rt_families[net->family].name);
    if (status == RT_OK)
        status = rt_h5_set_text(file, group, "forecaster", forecaster->name);
    if (status == RT_OK)
        status = rt_h5_write_struct(file, group, net_attributes, RT_COUNT(net_attributes), net);
    if (status == RT_OK && net->rows_impossible > 0)
        status = rt_h5_write_struct(file, group, &impossible, 1, net);
    return status == RT_OK ? forecaster->write(net, file, group) : status;
}

static int by_family(const void *a, const void *b)
{
    const struct rt_family_net *x = *(const struct rt_family_net *const *)a,
                               *y = *(const struct rt_family_net *const *)b;
    int apart = (int)x->family - (int)y->family;
    return apart != 0 ? apart : (int)x->units - (int)y->units;
}

/* In the order of the families: the same nets, the same bytes. */
static int write_nets(struct rt_h5 *file, const struct rt_predictor *predictor)
{
    const struct rt_family_net *nets[RT_MAX_NETS];
    int status = rt_h5_make_group(file, "/families");
    for (size_t n = 0; n < predictor->net_count; n++)
        nets[n] = &predictor->nets[n];
    qsort(nets, predictor->net_count, sizeof *nets, by_family);
    for (size_t n = 0; status == RT_OK && n < predictor->net_count; n++)
        status = write_net(file, nets[n]);
    return status;
}

int rt_predictor_write(const struct rt_predictor *predictor, struct rt_h5 *file)
{
    int status = rt_h5_write_struct(file, "/", root, RT_COUNT(root), predictor);
    if (status == RT_OK)
        status = write_nets(file, predictor);
    return status == RT_OK ? rt_energy_model_write(&predictor->energy, file) : status;
}

int rt_predictor_save(const struct rt_predictor *predictor, const char *path)
{
    struct rt_h5 *file;
    int status = rt_h5_create(path, &file);
    if (status != RT_OK)
        return status;
    if ((status = rt_h5_set_text(file, "/", "format", RT_PREDICTOR_FORMAT)) != RT_OK ||
        (status = rt_h5_set_integer(file, "/", "version", RT_PREDICTOR_VERSION)) != RT_OK ||
        (status = rt_predictor_write(predictor, file)) != RT_OK) {
        rt_h5_close(file);
        return status;
    }
    return rt_h5_commit(file);
}

/* ---- reading ---- */

static int read_forecaster(struct rt_h5 *file, const char *group, struct rt_family_net *net)
{
    static const struct rt_h5_attribute row = RT_H5_MEMBER_NAME(
        struct rt_family_net, forecaster, "forecaster", rt_forecasters, RT_FORECASTER_COUNT);
    return rt_h5_read_struct(file, group, &row, 1, net);
}

/* Is the net that of its group? Files of earlier builds say the family in the group's name alone. */
static int check_name(struct rt_h5 *file, const char *group, const struct rt_family_net *net)
{
    char expected[64], *family = NULL;
    net_path(net, expected);
    int status = rt_h5_has(file, group, "family") ? rt_h5_get_text(file, group, "family", &family) : RT_OK;
    if (status == RT_OK && (strcmp(group, expected) != 0 ||
                            (family != NULL && strcmp(family, rt_families[net->family].name) != 0)))
        status =
            rt_fail(RT_EFORMAT,
                    "%s: %s holds the network of %.40s for %s dtypes: the file is damaged, restore it from "
                    "a copy or train again",
                    rt_h5_path(file), group, family != NULL ? family : "its family", rt_units[net->units]);
    free(family);
    return status;
}

static bool counts_are_sound(const struct rt_family_net *net)
{
    return net->rows_train >= 0 && net->rows_validation >= 0 && net->rows_impossible >= 0 &&
           net->best_epoch >= 0 && net->epochs >= net->best_epoch && !(net->validation_mape < 0);
}

static int read_net(struct rt_h5 *file, const char *name, void *context)
{
    struct rt_predictor *predictor = context;
    char group[64];
    snprintf(group, sizeof group, "%.*s", (int)strcspn(name, "."), name);
    int family = rt_family_find(group);
    if (family < 0 || predictor->net_count == RT_MAX_NETS)
        return rt_fail(
            RT_EVERSION,
            "%s: has a network for \"%.40s\", a family this build does not know; use a newer rooftile",
            rt_h5_path(file), name);
    predictor->nets = rt_realloc(predictor->nets, predictor->net_count + 1, sizeof *predictor->nets);
    struct rt_family_net *net = &predictor->nets[predictor->net_count++];
    *net = (struct rt_family_net){.family = (enum rt_family)family, .target = predictor->target};
    snprintf(group, sizeof group, "/families/%.48s", name);
    int status = read_forecaster(file, group, net);
    if (status == RT_OK)
        status = rt_h5_read_struct(file, group, net_attributes, RT_COUNT(net_attributes), net);
    if (status == RT_OK && rt_h5_has(file, group, impossible.name))
        status = rt_h5_read_struct(file, group, &impossible, 1, net);
    if (status == RT_OK)
        status = check_name(file, group, net);
    if (status == RT_OK && !counts_are_sound(net))
        status = rt_fail(RT_EFORMAT, "%s: %s was fitted in %lld epochs to %lld rows: the file is damaged",
                         rt_h5_path(file), group, (long long)net->epochs, (long long)net->rows_train);
    return status == RT_OK ? rt_forecasters[net->forecaster].read(file, group, net) : status;
}

static bool split_is_sound(const struct rt_split_rule *split)
{
    return split->validation >= 0 && split->test >= 0 && split->validation + split->test <= 1;
}

int rt_predictor_read(struct rt_h5 *file, struct rt_predictor *out)
{
    struct rt_predictor predictor;
    rt_predictor_init(&predictor, "");
    int status = rt_h5_read_struct(file, "/", root, RT_COUNT(root), &predictor);
    if (status == RT_OK && !split_is_sound(&predictor.split))
        status = rt_fail(RT_EFORMAT, "%s: split into %g validation and %g test: the file is damaged",
                         rt_h5_path(file), predictor.split.validation, predictor.split.test);
    if (status == RT_OK)
        status = rt_h5_each_child(file, "/families", read_net, &predictor);
    if (status == RT_OK)
        status = rt_energy_model_read(file, &predictor.energy);
    if (status == RT_OK)
        *out = predictor;
    else
        rt_predictor_release(&predictor);
    return status;
}

static int open_file(const char *path, struct rt_predictor *out)
{
    struct rt_h5 *file;
    int status = rt_h5_open(path, RT_PREDICTOR_FORMAT, RT_PREDICTOR_VERSION, &file);
    if (status == RT_EIO || status == RT_EFORMAT)
        return rt_fail_remedy(
            status, "`rooftile train DATA.h5 -o predictor.h5` makes a predictor, and \"pretrained\" is the "
                    "one that comes along");
    if (status != RT_OK)
        return status;
    if (rt_h5_version(file) < OLDEST_VERSION)
        status = rt_fail(RT_EVERSION,
                         "%s: is a predictor file of version %d; this build reads versions %d to %d: train "
                         "the predictor again",
                         path, rt_h5_version(file), OLDEST_VERSION, RT_PREDICTOR_VERSION);
    else
        status = rt_predictor_read(file, out);
    rt_h5_close(file);
    return status;
}

static int open_pretrained(struct rt_predictor *out)
{
    char *path;
    int status = rt_pretrained_path(&path);
    if (status != RT_OK)
        return status;
    status = open_file(path, out);
    free(path);
    return status;
}

int rt_predictor_open(const char *name, struct rt_predictor *out)
{
    if (strcmp(name, rt_forecasters[RT_FORECASTER_ROOFLINE].name) == 0) {
        rt_predictor_init_roofline(out);
        return RT_OK;
    }
    return strcmp(name, "pretrained") == 0 ? open_pretrained(out) : open_file(name, out);
}

char *rt_predictor_reads(const char *name)
{
    char *path = NULL;
    if (strcmp(name, "pretrained") == 0)
        return rt_pretrained_path(&path) == RT_OK ? path : NULL;
    return rt_strdup(name);
}

void rt_predictor_suggest(struct rt_text *list)
{
    rt_text_add(list, "pretrained\twhat comes with rooftile\nroofline\tthe bound alone\n:files h5\n");
}
