/*
 * The option --report and how a command ends that has it.
 *
 *     struct arguments { struct rt_names reports; bool overwrite, json; };
 *     static const struct rt_option options[] = {
 *         RT_REPORT_OPTION(struct arguments, reports),
 *         RT_REPORT_OVERWRITE(struct arguments, overwrite),
 *     };
 *     ... rt_outputs_check(line) before the work ...
 *     return rt_report_end_with(report, arguments->json, &arguments->reports);
 */
#pragma once

#include "base/options.h"
#include "base/outputs.h"
#include "base/report.h"

/* clang-format off */
#define RT_REPORT_OPTION(type, member)                                                                       \
    {"report", 0, "FILE",                                                                                    \
     RT_LIST(type, member, .check = rt_report_check_path, .writes = &rt_output_text),                        \
     "Also write a report: .html with pictures, .txt, .json, .csv or .md"}
#define RT_REPORT_OVERWRITE(type, member)                                                                    \
    {"overwrite", 0, NULL, RT_FLAG(type, member),                                                            \
     "Replace reports that are there already (texts, nothing else)"}
/* clang-format on */

/* Will the report be printed in this form? What takes long to make is made then only. */
bool rt_report_is_asked(bool json, const struct rt_names *files, enum rt_report_form form);

/* Saves the report to all files, prints it on standard output and frees it in any case. */
int rt_report_end_with(struct rt_report *report, bool json, const struct rt_names *files);
