/*
 * Losses of one prediction p against its target t, and their derivative by p. A new one is a row in loss.c.
 */
#ifndef ROOFTILE_MODELS_PREDICTORS_NN_LOSS_H
#define ROOFTILE_MODELS_PREDICTORS_NN_LOSS_H

/* Stored by name in predictor files. */
enum rt_loss_id { RT_LOSS_SMAPE, RT_LOSS_LOG, RT_LOSS_COUNT };

struct rt_loss {
    const char *name;
    /* Value at (p, t); *derivative = d value / d p, 0 where p == t at a kink. */
    double (*value)(double p, double t, double *derivative);
};

extern const struct rt_loss rt_losses[RT_LOSS_COUNT];
int rt_loss_find(const char *name); /* -1 where there is none */

#endif
