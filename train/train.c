/* The recipes of a kind, one after the other. See train.h. */
#include "train/train.h"
#include "base/status.h"
#include "train/fit_recipe.h"

#include <math.h>
#include <string.h>

const struct rt_train_options rt_train_defaults = {
    .kind = "rooftile", .split = RT_SPLIT_DEFAULT, .checkpoint_seconds = 5};

static bool names_family(const struct rt_names *names, const char *family)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->name[i], family) == 0)
            return true;
    return names->count == 0;
}

static bool is_wanted(const struct rt_training *training, const struct rt_recipe *recipe)
{
    return strcmp(recipe->kind, training->options->kind) == 0 &&
           names_family(&training->options->families, rt_families[recipe->family].name);
}

static double total_work(const struct rt_training *training)
{
    double total = 0;
    for (size_t r = 0; r < rt_recipe_count; r++)
        if (is_wanted(training, &rt_recipes[r]))
            total += rt_recipe_work(training, &rt_recipes[r]);
    return total;
}

/* Between two nets a checkpoint holds the next recipe and no parameters. */
static int fit_all(struct rt_training *training, const struct rt_fit *resumed)
{
    int status = RT_OK;
    training->saved = rt_clock();
    for (size_t r = resumed != NULL ? resumed->recipe : 0; status == RT_OK && r < rt_recipe_count; r++) {
        if (!is_wanted(training, &rt_recipes[r]))
            continue;
        bool goes_on = resumed != NULL && r == resumed->recipe && resumed->count > 0;
        size_t nets = training->predictor.net_count;
        status = rt_recipe_fit(training, r, goes_on ? resumed : NULL);
        if (status == RT_OK && training->predictor.net_count > nets)
            status = rt_training_save_checkpoint(training,
                                                 &(struct rt_fit){.recipe = r + 1, .best_mape = INFINITY});
    }
    return status;
}

int rt_train(const struct rt_dataset *dataset, const struct rt_train_options *options,
             struct rt_table *summary)
{
    struct rt_training training;
    struct rt_fit fit = {0};
    bool resumed = false;
    int status = rt_training_init(&training, dataset, options, summary);
    if (status == RT_OK)
        status = rt_training_load_checkpoint(&training, &fit, &resumed);
    if (status == RT_OK) {
        rt_progress_start(&training.progress, "train", total_work(&training), options->quiet);
        status = fit_all(&training, resumed ? &fit : NULL);
        rt_progress_end(&training.progress);
        status = rt_training_save(&training, status);
    }
    rt_checkpoint_release(&fit);
    rt_training_release(&training);
    return status;
}
