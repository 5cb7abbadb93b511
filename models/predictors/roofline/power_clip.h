/*
 * How a GPU's watts follow its clock, and what a power limit leaves of them.
 */
#ifndef ROOFTILE_MODELS_PREDICTORS_ROOFLINE_POWER_CLIP_H
#define ROOFTILE_MODELS_PREDICTORS_ROOFLINE_POWER_CLIP_H

/* Core voltage at a share of the boost clock, over that at the boost clock: in proportion to the clock down
 * to a floor, 0.7. Below the floor a lower clock saves no energy per operation any more: it only stretches
 * the time in which the GPU draws its static power, which is what makes low limits cost energy. The floor was
 * chosen from 0.6, 0.65, 0.7 and 0.75 by time and power against power limits on P100, V100 and Quadro RTX
 * 6000, each GPU by the other two (docs/log/energy.md). */
double rt_power_voltage(double clock_share);

/* A step is RT_POWER_PHASES phases of equal time, as it runs at the board's limit. While kernels run, a phase
 * draws a base (idle and clocked, the same for all) and rt_power_phase_gain() times the mean dynamic power:
 * the midpoints of equal parts of a lognormal distribution with a deviation of 0.25 in ln, mean 1. The limit
 * holds for each phase by itself, as boards regulate within milliseconds; so a step that is limited only now
 * and then draws less than its limit on average: 0.91 of 250 W where BERT trains on a V100, and nearly all of
 * 100 W. */
enum { RT_POWER_PHASES = 5 };
double rt_power_phase_gain(int phase);

/* Watts that a board keeps to: 0.98 of its limit. Long phases under a limit average 0.97 to 1.00 of it. */
double rt_power_kept(double limit_w);

/* Average watts while kernels run of a step whose kernels would draw base_w + dynamic_w were there no limit;
 * grows with all three. NaN as limit_w: there is none. */
double rt_power_clipped(double base_w, double dynamic_w, double limit_w);

#endif
