/* What the program is built of. See about.h. */
#include "about.h"
#include "base/csv.h"
#include "base/h5.h"
#include "base/report.h"
#include "base/revision.h"
#include "base/status.h"
#include "base/version.h"
#include "collect/backends.h"
#include "models/networks/onnx/onnx.h"
#include "models/predictors/nn/blas.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#ifdef __clang__
#define COMPILER "clang "
#else
#define COMPILER "gcc "
#endif

/* The gnuplot that reports start, "/usr/bin/gnuplot", to be freed; NULL where PATH has none. Its version would
 * take a process of its own, four times as long as all the rest. */
static char *gnuplot_path(void)
{
    char *folders = rt_strdup(getenv("PATH") != NULL ? getenv("PATH") : ""), *rest = folders, *folder;
    char *path = NULL;
    while (path == NULL && (folder = strsep(&rest, ":")) != NULL) {
        path = rt_format("%s/gnuplot", folder[0] != '\0' ? folder : ".");
        if (access(path, X_OK) != 0) {
            free(path);
            path = NULL;
        }
    }
    free(folders);
    return path;
}

static bool has_backend(const char *name)
{
    size_t b = 0;
    while (b < rt_backend_count && strcmp(rt_backends[b]->name, name) != 0)
        b++;
    return b < rt_backend_count;
}

static void add_libraries(struct rt_report *report)
{
    const char *onnx = rt_onnx_library();
    rt_report_add_text(report, "libraries.hdf5", "HDF5", rt_h5_library());
    rt_report_add_text(report, "libraries.openblas", "OpenBLAS", rt_blas_library());
    rt_report_add_text(report, "libraries.jansson", "jansson", jansson_version_str());
    rt_report_add_text(report, "libraries.libcsv", "libcsv", rt_csv_library());
    rt_report_add_text(report, "libraries.zlib", "zlib", zlibVersion());
    rt_report_add_fact(report, "libraries.protobuf_c", onnx != NULL ? json_string(onnx) : json_null(), "ONNX",
                       "%s%s", onnx != NULL ? "read by protobuf-c " : "not built in",
                       onnx != NULL ? onnx : "");
}

int rt_about(int argc, char **argv)
{
    bool json = argc == 3 && strcmp(argv[2], "--json") == 0;
    if (argc > 2 && !json)
        return rt_fail(RT_EUSAGE, "--version %s: say nothing behind --version, or --json", argv[2]);
    struct rt_report *report = rt_report_new();
    char *gnuplot = gnuplot_path();
    bool cuda = has_backend("cuda");
    rt_report_add_title(report, "rooftile " RT_VERSION);
    rt_report_add_json(report, "version", json_string(RT_VERSION));
    rt_report_add_text(report, "revision", "revision", RT_REVISION[0] != '\0' ? RT_REVISION : NULL);
    rt_report_add_text(report, "compiler", "compiler", COMPILER __VERSION__);
    add_libraries(report);
    rt_report_add_fact(report, "cuda", json_boolean(cuda), "CUDA backend", "%s",
                       cuda ? "built in; the driver and its libraries are opened at run time"
                            : "not built in");
    rt_report_add_fact(report, "gnuplot", gnuplot != NULL ? json_string(gnuplot) : json_null(), "pictures",
                       "%s",
                       gnuplot != NULL ? gnuplot : "gnuplot was not found; install it (Debian: gnuplot-nox)");
    free(gnuplot);
    return rt_report_end(report, json);
}
