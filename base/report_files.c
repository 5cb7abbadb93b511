/* Reports into files and onto standard output. See report_files.h. */
#include "base/report_files.h"
#include "base/status.h"

bool rt_report_is_asked(bool json, const struct rt_names *files, enum rt_report_form form)
{
    bool asked = form == (json ? RT_REPORT_JSON : RT_REPORT_TEXT);
    for (size_t i = 0; !asked && i < files->count; i++) {
        enum rt_report_form of_file;
        asked = rt_report_form("--report", files->name[i], &of_file) == RT_OK && of_file == form;
    }
    return asked;
}

int rt_report_end_with(struct rt_report *report, bool json, const struct rt_names *files)
{
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < files->count; i++)
        status = rt_report_save(report, files->name[i]);
    if (status == RT_OK)
        return rt_report_end(report, json);
    rt_report_free(report);
    return status;
}
