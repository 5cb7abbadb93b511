/* In place of the server, where libmicrohttpd's header was not found when this was built. */
#include "predict/web/server.h"
#include "base/status.h"

int rt_web_serve(const struct rt_web_options *options)
{
    (void)options;
    return rt_fail(
        RT_ENOTFOUND,
        "this rooftile was built without libmicrohttpd, so `rooftile web` does nothing; install it "
        "(Debian: libmicrohttpd-dev) and build again");
}
