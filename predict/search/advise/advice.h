/*
 * Which slice of a GPU a step needs: each of the board's MIG profiles (datasets/mig.h) is a device, the step
 * is forecast on it, and the smallest that holds it in memory and meets its target is advised.
 *
 * Beside it stands the rule of DIPPM (Panner Selvam and Brorsson, Euro-Par 2023): the smallest
 * profile whose memory is enough, whatever the time.
 *
 * Instances share the board's power and clock: kernels take RT_BUSY_NEIGHBOURS times as long while all of
 * them are busy, which counts for the throughput of a board full of instances and for partitions.
 *
 * The files, in reading order:
 *   advice.h       profiles for one step
 *   partition.h    a partition of one GPU for several jobs
 *   judge.h        advice beside measured runs
 *   report.h       what is printed
 *   cmd_advise.c   the command
 */
#ifndef ROOFTILE_PREDICT_SEARCH_ADVISE_ADVICE_H
#define ROOFTILE_PREDICT_SEARCH_ADVISE_ADVICE_H

#include "datasets/mig.h"
#include "predict/step/forecast.h"
#include "predict/step/jobs.h"

/* Of 13 pairs in MLPerf's submissions (seven busy 1g.10gb of an A100-SXM4-80GB beside one alone, TensorRT):
 * the mean; 1.01 (3D U-Net) to 1.10 (BERT). */
#define RT_BUSY_NEIGHBOURS 1.04

struct rt_advise_options {
    const struct rt_predictor *predictor;
    struct rt_forecast_options forecast;
    double whole_us; /* the step's measured time on the whole board, which forecasts then follow; NaN: none */
    bool throughput; /* advise what gives the board most, not the smallest */
};

/* A profile for a step. */
struct rt_advised {
    const struct rt_mig_profile *profile; /* of rt_advice.mig; NULL: the whole board, without MIG */
    double total_us, low_us, high_us;     /* alone on the board; the interval NaN where it is unknown */
    double busy_us;                       /* while its neighbours are busy */
    double used_bytes, memory_bytes;      /* that the step takes, that programs find */
    bool fits, meets;                     /* the memory; that and latency and rate, alone */
    double rate;                          /* sequences or images a second of one instance, alone */
    double full_rate;                     /* of the board full of such instances, all busy; 0: does not fit */
};

enum { RT_ADVISED = RT_MIG_PROFILES + 1 };
struct rt_advice {
    struct rt_device board;
    struct rt_mig mig;
    struct rt_advised row[RT_ADVISED]; /* small profiles first, the whole board last */
    int count;
    int advised;   /* row; -1: none meets the target */
    int by_memory; /* DIPPM's rule; -1: none fits */
};

/* Profiles with media engines (+me) compute as those without and are left out. Errors are those of graphs and
 * forecasts; RT_EUSAGE for a board without MIG. */
int rt_advise(const struct rt_gpu_job *job, const char *board, const struct rt_advise_options *options,
              struct rt_advice *out);

/* The row with that profile; NULL where it is left out. */
const struct rt_advised *rt_advised_of(const struct rt_advice *advice, const struct rt_mig_profile *profile);

#endif
