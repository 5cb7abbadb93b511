/* The table that `rooftile train` prints: a row for each net. */
#include "base/status.h"
#include "train/training.h"

#include <math.h>

const struct rt_column rt_train_columns[] = {
    {"family", NULL, 's', 0},
    {"rows_train", "train", 'd', 0},
    {"rows_validation", "validation", 'd', 0},
    {"held_out", "held out", 'd', 0},
    {"test", "test", 'd', 0},
    {"failed", "not timed", 'd', 0},
    {"unknown_tile", "tile unknown", 'd', 0},
    {"no_peak", "peak unknown", 'd', 0},
    {"impossible", NULL, 'd', 0},
    {"throttled", NULL, 'd', 0},
    {"epochs", NULL, 'd', 0},
    {"best_epoch", "best", 'd', 0},
    {"validation_mape", "validation MAPE %", 'f', 2},
    {"seconds", "s", 'f', 1},
};
const size_t rt_train_column_count = RT_COUNT(rt_train_columns);

void rt_training_summarise(struct rt_training *training, const struct rt_recipe *recipe,
                           const struct rt_training_rows_left_out *left_out, size_t train, size_t validation,
                           const struct rt_fit *fit, double started)
{
    size_t all = train + validation + left_out->held_out + left_out->test + left_out->failed +
                 left_out->unknown_tile + left_out->no_peak + left_out->impossible + left_out->throttled;
    if (left_out->impossible > 0 && !training->options->quiet)
        rt_warn(
            "%zu kernels of %s are faster than the roofline of their device allows and left out (`rooftile "
            "dataset validate` names the worst; --keep-all keeps them)",
            left_out->impossible, rt_net_name(recipe->family, recipe->units));
    if (training->summary == NULL || all == 0) /* the data may lack families, and units */
        return;
    rt_table_row(training->summary, rt_net_name(recipe->family, recipe->units), (long long)train,
                 (long long)validation, (long long)left_out->held_out, (long long)left_out->test,
                 (long long)left_out->failed, (long long)left_out->unknown_tile, (long long)left_out->no_peak,
                 (long long)left_out->impossible, (long long)left_out->throttled, (long long)fit->epoch,
                 (long long)fit->best_epoch, fit->best_epoch > 0 ? fit->best_mape : NAN,
                 rt_clock() - started);
}
