/*
 * Which slice of a GPU a step needs: each of the board's MIG profiles (datasets/mig.h) is a device, the step
 * is forecast on it, and the smallest that holds it in memory and meets its target is advised.
 *
 * Beside it stands the rule of DIPPM (Panner Selvam and Brorsson, Euro-Par 2023): the smallest
 * profile whose memory is enough, whatever the time.
 *
 * Instances share the board's power and clock: kernels take RT_BUSY_NEIGHBOURS times as long while all of
 * them are busy, which counts for the throughput of a board full of instances and for partitions.
 */
#pragma once

#include "base/report.h"
#include "datasets/mig.h"
#include "predict/step/forecast.h"
#include "predict/step/jobs.h"

/* Of 13 pairs in MLPerf's submissions (seven busy 1g.10gb of an A100-SXM4-80GB beside one alone, TensorRT):
 * the mean; 1.01 (3D U-Net) to 1.10 (BERT). */
#define RT_BUSY_NEIGHBOURS 1.04

enum { RT_WHOLE_BAND = 10 };

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

/* `board` may be a slice, NAME:PROFILE: then that alone is a row. Profiles with media engines (+me) compute
 * as those without and are left out. Errors are those of graphs and forecasts; RT_EUSAGE for a board without
 * MIG, and for a whole_us that is not within RT_WHOLE_BAND times of the forecast: a time of something else,
 * or in another unit. */
int rt_advise(const struct rt_gpu_job *job, const char *board, const struct rt_advise_options *options,
              struct rt_advice *out);

/* The row with that profile; NULL where it is left out. */
const struct rt_advised *rt_advised_of(const struct rt_advice *advice, const struct rt_mig_profile *profile);

/* ---- a partition for several jobs ---- */

/*
 * The best partition of one GPU for a list of jobs, an instance for each: exact search over profiles and
 * placements (datasets/mig.h). What is maximised is the progress of all jobs together, each as a share of
 * what it makes alone on the whole board: the system throughput of Eyerman and Eeckhout (IEEE Micro 28(3),
 * 2008).
 */

struct rt_partition {
    int count;                  /* of jobs, and of instances */
    int profile[RT_MIG_PLACES]; /* of each job's instance: its place in rt_mig.profile */
    int start[RT_MIG_PLACES];   /* memory slice */
    double progress;            /* the sum */
    int memory_slices;          /* taken */
};

/* progress (jobs, mig->count): what a job makes on an instance of a profile, of what it makes on the whole
 * board; NaN: it does not fit, or misses its target. The most progress in all, of equal ones (to 1e-9) the
 * fewest memory slices, of those the first in the order of profiles. False where no partition serves all, or
 * jobs are more than RT_MIG_PLACES. */
bool rt_partition_best(const struct rt_mig *mig, const double *progress, int jobs, struct rt_partition *out);

/* The naive alternative: all instances of one profile, the best such. */
bool rt_partition_equal(const struct rt_mig *mig, const double *progress, int jobs, struct rt_partition *out);

/* ---- advice beside measured runs ---- */

/*
 * Advice beside measured runs: a dataset in which the same run was measured on several slices of a board says
 * which profile is the smallest that meets a target, and which gives the board most. Of the profiles that
 * were measured, does the advice name that one?
 */

enum { RT_ADVISE_TARGETS = 16, RT_ADVISE_MODES = 2 }; /* modes: inference, training */

/* Whose choice is judged. */
enum rt_advice_rule {
    RT_RULE_ADVICE,  /* the smallest that fits and meets the target, by forecasts */
    RT_RULE_WHOLE,   /* the same with forecasts from the measured time on the largest slice */
    RT_RULE_MEMORY,  /* DIPPM's: the smallest that fits */
    RT_RULE_LARGEST, /* the largest slice, always */
    RT_RULE_COUNT
};

/* Cases, and those in which a rule names the best measured profile. */
struct rt_advice_score {
    size_t cases, right[RT_RULE_COUNT];
    double lost[RT_RULE_COUNT]; /* throughput: of the best one's, 0..1, summed over cases */
};

struct rt_advice_judgement {
    double target_us[RT_ADVISE_TARGETS];
    size_t targets;
    struct rt_advice_score latency[RT_ADVISE_MODES][RT_ADVISE_TARGETS]; /* smallest profile in time */
    struct rt_advice_score throughput[RT_ADVISE_MODES];                 /* most of the board */
    size_t runs, groups, refused; /* runs on slices, the same on several of them, those without a forecast */
};

/* targets: `out` has them set. A run that was out of memory meets no target. RT_ENOTFOUND where no run is of
 * two slices of a board. */
int rt_advice_judge(const struct rt_dataset *dataset, const struct rt_predictor *predictor, bool fallback,
                    struct rt_advice_judgement *out);

/* ---- what is printed ---- */

/* For people, JSON, CSV, Markdown (base/report.h). */

/* Profiles for a job. */
struct rt_report *rt_advice_report(const struct rt_gpu_job *job, const struct rt_advice *advice,
                                   const struct rt_advise_options *options);

/* A partition for several jobs: advices (jobs->count) of one board, its instances, and what it is compared
 * with: one profile for all (NULL: none serves all), and taking turns on the whole board. */
struct rt_advised_partition {
    const struct rt_gpu_jobs *jobs;
    const struct rt_advice *advices;
    const struct rt_partition *partition; /* NULL: none serves all */
    const struct rt_partition *equal;     /* NULL: likewise */
    bool given;                           /* the partition was named, not searched for */
    bool turns_fit, turns_meet;           /* all jobs in the board's memory at once; every target met */
};
/* The jobs take turns rather than a partition: none serves all, or it makes less progress. */
bool rt_partition_turns(const struct rt_advised_partition *advised);
struct rt_report *rt_partition_report(const struct rt_advised_partition *advised);

struct rt_report *rt_judgement_report(const struct rt_advice_judgement *judgement);
