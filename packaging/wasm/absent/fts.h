/* emscripten has no fts: no folder is searched in a page. */
#include <sys/stat.h>
typedef struct {
    int fts_info, fts_level, fts_errno;
    char *fts_name, *fts_path;
} FTSENT;
typedef void FTS;
enum { FTS_PHYSICAL = 1, FTS_COMFOLLOW, FTS_NOCHDIR = 4, FTS_D = 1, FTS_F, FTS_SL, FTS_NS, FTS_ERR, FTS_DNR, FTS_SKIP };
#define fts_open(roots, options, order) ((void)(roots), (void)(order), (FTS *)0)
#define fts_read(tree)                  ((FTSENT *)0)
#define fts_set(tree, entry, what)      ((void)(entry))
#define fts_close(tree)                 ((void)(tree))
