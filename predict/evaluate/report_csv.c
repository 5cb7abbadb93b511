/* An evaluation for spreadsheets. See report.h. */
#include "base/table.h"
#include "predict/evaluate/report.h"

int rt_report_csv(const struct rt_evaluation *evaluation, FILE *file)
{
    struct rt_table *table = rt_report_table(evaluation, evaluation->rows, evaluation->row_count);
    rt_report_table_add(table, evaluation, evaluation->pooled, evaluation->pooled_count);
    int status = rt_table_csv(table, file);
    rt_table_free(table);
    return status;
}
