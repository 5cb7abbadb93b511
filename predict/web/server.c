/* The server. See server.h. */
#include "predict/web/server.h"
#include "base/progress.h"
#include "base/report.h"
#include "base/status.h"
#include "base/text.h"
#include "datasets/device.h"
#include "models/networks/model.h"
#include "predict/web/request.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_CONNECTIONS = 512, IDLE_SECONDS = 30, MOST_JOBS = 1000 };

extern const struct rt_command rt_command_predict, rt_command_simulate, rt_command_plan;
extern const char *const rt_web_form[]; /* form.html */

/* ---- the library ---- */

#define CALLS(X)                                                                                             \
    X(MHD_start_daemon)                                                                                      \
    X(MHD_stop_daemon)                                                                                       \
    X(MHD_get_daemon_info)                                                                                   \
    X(MHD_create_response_from_buffer)                                                                       \
    X(MHD_add_response_header)                                                                               \
    X(MHD_queue_response)                                                                                    \
    X(MHD_destroy_response)                                                                                  \
    X(MHD_lookup_connection_value)                                                                           \
    X(MHD_get_connection_values)                                                                             \
    X(MHD_create_post_processor) X(MHD_post_process) X(MHD_destroy_post_processor)
#define POINTER(name) __typeof__(name) *name##_;
static struct {
    CALLS(POINTER)
} mhd;

static int open_library(void)
{
    void *library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return rt_fail(RT_ENOTFOUND, "libmicrohttpd was not found (%s); install it (Debian: libmicrohttpd12)",
                       dlerror());
#define FIND(name)                                                                                           \
    if ((*(void **)&mhd.name##_ = dlsym(library, #name)) == NULL)                                            \
        return rt_fail(RT_ENOTFOUND, "libmicrohttpd has no %s: it is too old", #name);
    CALLS(FIND)
    return RT_OK;
}

/* ---- routes ---- */

struct route {
    const char *path;
    const struct rt_command *command;
    const char
        *only; /* a page: the fields of the form that it takes; NULL: JSON, of any field of the command */
    bool jobs; /* lines of JSON */
};
static const struct route routes[] = {
    {"/forecast", &rt_command_predict, "model gpu mode batch seq context dtype tp", false},
    {"/serve", &rt_command_simulate, "model gpu isl osl concurrency dtype tp", false},
    {"/plan", &rt_command_plan, "model gpu gpus isl osl ttft tpot", false},
    {"/v1/predict", &rt_command_predict, NULL, false},
    {"/v1/serve", &rt_command_simulate, NULL, false},
    {"/v1/plan", &rt_command_plan, NULL, false},
    {"/v1/forecast", NULL, NULL, true},
};

static const struct route *route_of(const char *path)
{
    for (size_t i = 0; i < RT_COUNT(routes); i++)
        if (strcmp(routes[i].path, path) == 0)
            return &routes[i];
    return NULL;
}

/* ---- what one server has ---- */

struct server {
    const struct rt_web_options *options;
    struct rt_web_workers *workers;
    sem_t processes;
    char *form;
    bool local; /* bound to this machine alone: other names of it are a page's of elsewhere (DNS rebinding) */
};

struct request {
    const struct route *route;
    struct rt_text body;
    bool too_large;
};

/* ---- answers ---- */

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned code, const char *type,
                              const char *text)
{
    static const char policy[] = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
                                 "img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
    struct MHD_Response *response =
        mhd.MHD_create_response_from_buffer_(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
    if (response == NULL)
        return MHD_NO;
    mhd.MHD_add_response_header_(response, "Content-Type", type);
    mhd.MHD_add_response_header_(response, "Content-Security-Policy", policy);
    mhd.MHD_add_response_header_(response, "X-Content-Type-Options", "nosniff");
    mhd.MHD_add_response_header_(response, "Referrer-Policy", "no-referrer");
    mhd.MHD_add_response_header_(response, "Cache-Control", "no-store");
    enum MHD_Result queued = mhd.MHD_queue_response_(connection, code, response);
    mhd.MHD_destroy_response_(response);
    return queued;
}

#define HTML "text/html; charset=utf-8"
#define JSON "application/json"

/* A report as text; to be freed. */
static char *print_report(const struct rt_report *report, enum rt_report_form form)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (memory == NULL)
        return rt_strdup("");
    rt_report_print(report, form, memory);
    fclose(memory);
    return text;
}

/* A sentence in the form of the route. */
static enum MHD_Result refuse(struct MHD_Connection *connection, const struct request *request, unsigned code,
                              const char *sentence)
{
    bool page = request != NULL && request->route != NULL && request->route->only != NULL;
    if (page) {
        struct rt_report *report = rt_report_new();
        rt_report_add_title(report, "This cannot be forecast");
        rt_report_add_paragraph(report, "%s", sentence);
        rt_report_add_paragraph(report, "Go back, change what it says, and send it again.");
        char *text = print_report(report, RT_REPORT_HTML);
        rt_report_free(report);
        enum MHD_Result done = answer(connection, code, HTML, text);
        free(text);
        return done;
    }
    json_t *error = json_pack("{s:i, s:{s:s, s:i, s:o}}", "schema", RT_REPORT_SCHEMA, "error", "status",
                              code == MHD_HTTP_GATEWAY_TIMEOUT ? "timeout" : "usage", "exit",
                              code < 500 ? 2 : 1, "message", rt_json_text(sentence));
    char *text = json_dumps(error, 0);
    enum MHD_Result done = answer(connection, code, JSON, text != NULL ? text : "{}");
    free(text);
    json_decref(error);
    return done;
}

static unsigned code_of(int status)
{
    return status == RT_EINTERRUPTED ? MHD_HTTP_GATEWAY_TIMEOUT
           : status == RT_EIO        ? MHD_HTTP_SERVICE_UNAVAILABLE
                                     : MHD_HTTP_BAD_REQUEST;
}

/* ---- fields ---- */

static enum MHD_Result add_argument(void *fields, enum MHD_ValueKind kind, const char *key, const char *value)
{
    (void)kind;
    json_t *text = json_string(value != NULL ? value : "");
    if (text != NULL)
        rt_web_add_value(fields, key, text);
    return MHD_YES;
}

/* A form while its body is read, whose values come in pieces. */
struct form {
    json_t *fields;
    char *name; /* of the value that is being read; NULL: none */
    struct rt_text value;
    bool wrong; /* a value is no UTF-8, or holds a NUL */
};

static void end_value(struct form *form)
{
    json_t *text = json_string(form->value.length > 0 ? form->value.text : "");
    if (text == NULL)
        form->wrong = true;
    else if (form->name != NULL)
        rt_web_add_value(form->fields, form->name, text);
    else
        json_decref(text);
    free(form->name);
    form->name = NULL;
    rt_text_release(&form->value);
}

static enum MHD_Result add_piece(void *context, enum MHD_ValueKind kind, const char *name,
                                 const char *file_name, const char *type, const char *encoding,
                                 const char *data, uint64_t offset, size_t size)
{
    struct form *form = context;
    (void)kind, (void)file_name, (void)type, (void)encoding;
    if (offset == 0) {
        end_value(form);
        form->name = rt_strdup(name);
    }
    form->wrong |= memchr(data, '\0', size) != NULL;
    rt_text_add(&form->value, "%.*s", (int)size, data);
    return form->wrong ? MHD_NO : MHD_YES;
}

static int read_form(struct MHD_Connection *connection, const struct rt_text *body, json_t *fields)
{
    struct form form = {.fields = fields};
    struct MHD_PostProcessor *reader = mhd.MHD_create_post_processor_(connection, 4096, add_piece, &form);
    bool read = reader != NULL && mhd.MHD_post_process_(reader, body->text, body->length) == MHD_YES;
    read = reader != NULL && mhd.MHD_destroy_post_processor_(reader) == MHD_YES && read;
    end_value(&form);
    return read && !form.wrong
               ? RT_OK
               : rt_fail(RT_EUSAGE, "the body is no form: write percent signs as %%25, text as UTF-8");
}

/* Of the URL, then of the body: an object of JSON, or a form. */
static int read_fields(struct MHD_Connection *connection, const struct request *request, json_t *fields)
{
    const char *type = mhd.MHD_lookup_connection_value_(connection, MHD_HEADER_KIND, "Content-Type");
    const char *body = request->body.length > 0 ? request->body.text : "";
    json_error_t wrong;
    mhd.MHD_get_connection_values_(connection, MHD_GET_ARGUMENT_KIND, add_argument, fields);
    if (body[0] == '\0')
        return RT_OK;
    if (type != NULL && strncmp(type, "application/x-www-form-urlencoded", 33) == 0 &&
        body[0] != '{') /* curl -d says it of everything */
        return read_form(connection, &request->body, fields);
    json_t *object = json_loads(body, JSON_REJECT_DUPLICATES, &wrong);
    int status =
        object == NULL ? rt_fail(RT_EUSAGE, "the body is no JSON: line %d: %s", wrong.line, wrong.text)
        : !json_is_object(object) || json_object_update(fields, object) != 0
            ? rt_fail(RT_EUSAGE, "the body is no object, such as {\"model\": \"gpt2\", \"gpu\": \"H100\"}")
            : RT_OK;
    json_decref(object);
    return status;
}

/* ---- commands ---- */

/* One of the processes that may run at once; RT_EINTERRUPTED: none came free in time. */
static int take_turn(struct server *server)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += (time_t)server->options->limits.seconds + 1;
    while (sem_timedwait(&server->processes, &end) != 0)
        if (errno != EINTR)
            return rt_fail(RT_EINTERRUPTED, "the server is busy: try again later");
    return RT_OK;
}

static int run(struct server *server, const struct rt_web_words *words, const char *jobs, bool page,
               struct rt_web_output *output)
{
    const struct rt_web_file files[] = {{"config.json", words->config}, {"jobs.jsonl", jobs}};
    int status = take_turn(server);
    if (status != RT_OK)
        return status;
    status = rt_web_run(&server->options->limits, words->word, files, RT_COUNT(files),
                        page ? "page.html" : NULL, output);
    sem_post(&server->processes);
    return status;
}

/* The program's sentence: its last line, without "rooftile: ". To be freed. */
static char *last_sentence(const char *error)
{
    static const char prefix[] = "rooftile: ";
    size_t end = error != NULL ? strlen(error) : 0, from;
    while (end > 0 && error[end - 1] == '\n')
        end--;
    for (from = end; from > 0 && error[from - 1] != '\n'; from--)
        ;
    if (end == from)
        return rt_strdup("the forecast ended without a word: it needs more memory than a request may take");
    if (strncmp(error + from, prefix, strlen(prefix)) == 0)
        from += strlen(prefix);
    return rt_format("%.*s", (int)(end - from), error + from);
}

static enum MHD_Result answer_output(struct MHD_Connection *connection, const struct request *request,
                                     const struct rt_web_output *output)
{
    bool page = request->route->only != NULL, done = output->exit == 0;
    const char *text = page ? output->page : output->out;
    unsigned code = done                 ? MHD_HTTP_OK
                    : output->exit < 128 ? MHD_HTTP_BAD_REQUEST
                                         : MHD_HTTP_SERVICE_UNAVAILABLE;
    if (text != NULL && text[0] != '\0' && (done || !page))
        return answer(connection, code, page ? HTML : JSON, text);
    char *sentence = last_sentence(output->error);
    enum MHD_Result result = refuse(connection, request, code, sentence);
    free(sentence);
    return result;
}

static int run_command(struct server *server, const struct route *route, const json_t *fields,
                       struct rt_web_output *out)
{
    struct rt_web_words words;
    int status = rt_web_words_of(route->command, fields, route->only, &words);
    if (status != RT_OK)
        return status;
    if (words.config != NULL)
        rt_web_words_add(&words, rt_strdup("--model=config.json"));
    rt_web_words_add(&words, rt_format("--predictor=%s", server->options->predictor));
    if (route->command == &rt_command_plan)
        rt_web_words_add(&words, rt_strdup("--threads=1"));
    rt_web_words_add(&words, rt_strdup(route->only != NULL ? "--report=page.html" : "--json"));
    status = run(server, &words, NULL, route->only != NULL, out);
    rt_web_words_release(&words);
    return status;
}

static enum MHD_Result command(struct server *server, struct MHD_Connection *connection,
                               const struct request *request)
{
    json_t *fields = json_object();
    struct rt_web_output output = {0};
    int status = read_fields(connection, request, fields);
    if (status == RT_OK)
        status = run_command(server, request->route, fields, &output);
    enum MHD_Result done = status == RT_OK ? answer_output(connection, request, &output)
                                           : refuse(connection, request, code_of(status), rt_error());
    rt_web_output_release(&output);
    json_decref(fields);
    return done;
}

/* ---- jobs ---- */

/* A job whose model is a config.json of its own: by a process, in whose folder that is. */
static int ask_with_config(struct server *server, json_t *job, char **line)
{
    struct rt_web_words words = {0};
    struct rt_web_output output = {0};
    const json_t *config = json_object_get(job, "config");
    words.config = json_is_string(config) ? rt_strdup(json_string_value(config)) : json_dumps(config, 0);
    json_object_del(job, "config");
    json_object_set_new(job, "model", json_string("config.json"));
    char *text = json_dumps(job, JSON_COMPACT);
    const char *const all[] = {"rooftile",   "predict", "--jobs",
                               "jobs.jsonl", "-p",      server->options->predictor};
    for (size_t i = 0; i < RT_COUNT(all); i++)
        rt_web_words_add(&words, rt_strdup(all[i]));
    int status = run(server, &words, text, false, &output);
    if (status == RT_OK && (output.out == NULL || output.out[0] == '\0'))
        status = rt_fail(RT_EIO, "the forecast ended without a word");
    if (status == RT_OK)
        *line = rt_format("%.*s", (int)strcspn(output.out, "\n"), output.out);
    rt_web_output_release(&output);
    rt_web_words_release(&words);
    free(text);
    return status;
}

static int ask(struct server *server, json_t *job, char **line)
{
    json_t *config = json_object_get(job, "config");
    if (config != NULL)
        json_incref(config), json_object_del(job, "config"); /* it may say anything */
    int status = rt_web_check(job);
    if (config != NULL)
        json_object_set_new(job, "config", config);
    if (status != RT_OK || config != NULL)
        return status == RT_OK ? ask_with_config(server, job, line) : status;
    char *text = json_dumps(job, JSON_COMPACT);
    status = rt_web_ask(server->workers, text, line);
    free(text);
    return status;
}

/* A worker counts the lines of all its clients: the answer has the number of the client's own. */
static void add_answer(struct rt_text *lines, const char *line, int number)
{
    const char *own = strstr(line, "\"line\":"), *digits = own != NULL ? own + strlen("\"line\":") : line;
    rt_text_item(lines, "\n", "%.*s", (int)(digits - line), line);
    if (own != NULL)
        rt_text_add(lines, "%d", number);
    rt_text_add(lines, "%s", digits + (own != NULL ? strspn(digits, "0123456789") : 0));
}

/* Each in turn, into *lines. RT_EUSAGE where the body is not a sequence of objects. */
static int ask_all(struct server *server, const char *body, struct rt_text *lines, bool *wrong)
{
    int status = RT_OK, count = 0;
    double end = rt_clock() + server->options->limits.seconds;
    for (size_t skip; status == RT_OK && body[skip = strspn(body, " \t\r\n")] != '\0';) {
        json_error_t error;
        char *line = NULL;
        json_t *job = json_loads(body + skip, JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &error);
        if (job == NULL || !json_is_object(job) || ++count > MOST_JOBS)
            status =
                rt_fail(RT_EUSAGE,
                        "the body is not at most %d lines of JSON, such as {\"model\": \"gpt2\", \"gpu\": "
                        "\"H100\"}",
                        MOST_JOBS);
        else if (count > 1 && rt_clock() > end)
            status = rt_fail(RT_EINTERRUPTED,
                             "the lines took longer than the %g s that a request may take: send fewer",
                             server->options->limits.seconds);
        else
            status = ask(server, job, &line);
        if (status == RT_OK) {
            add_answer(lines, line, count);
            *wrong |= strstr(line, "\"error\":") != NULL;
            body += skip + (size_t)error.position;
        }
        free(line);
        json_decref(job);
    }
    return status == RT_OK && count == 0
               ? rt_fail(RT_EUSAGE, "send a job, such as {\"model\": \"gpt2\", \"gpu\": \"H100\"}")
               : status;
}

static enum MHD_Result jobs(struct server *server, struct MHD_Connection *connection,
                            const struct request *request)
{
    struct rt_text lines = {0};
    bool wrong = false;
    int status = ask_all(server, request->body.length > 0 ? request->body.text : "", &lines, &wrong);
    rt_text_add(&lines, "\n");
    enum MHD_Result done =
        status == RT_OK ? answer(connection, wrong ? MHD_HTTP_BAD_REQUEST : MHD_HTTP_OK,
                                 strchr(lines.text, '\n')[1] == '\0' ? JSON : "application/jsonl", lines.text)
                        : refuse(connection, request, code_of(status), rt_error());
    rt_text_release(&lines);
    return done;
}

/* ---- requests ---- */

/* Is the header "Host" a name of this machine? */
static bool is_local_name(const char *host)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; host != NULL && i < RT_COUNT(names); i++) {
        size_t length = strlen(names[i]);
        if (strncmp(host, names[i], length) == 0 && (host[length] == ':' || host[length] == '\0'))
            return true;
    }
    return false;
}

static enum MHD_Result finish(struct server *server, struct MHD_Connection *connection, const char *path,
                              const char *method, const struct request *request)
{
    bool post = strcmp(method, "POST") == 0, get = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    const char *host = mhd.MHD_lookup_connection_value_(connection, MHD_HEADER_KIND, "Host");
    if (server->local && !is_local_name(host))
        return refuse(connection, request, MHD_HTTP_FORBIDDEN, "this server answers to localhost alone");
    if (request->too_large)
        return refuse(connection, request, 413, "the request is larger than the server takes");
    if (get && strcmp(path, "/") == 0)
        return answer(connection, MHD_HTTP_OK, HTML, server->form);
    if (request->route == NULL)
        return refuse(
            connection, request, MHD_HTTP_NOT_FOUND,
            "there is /, /forecast, /serve, /plan, /v1/forecast, /v1/predict, /v1/serve and /v1/plan");
    if (!post && (!get || request->route->jobs))
        return refuse(connection, request, MHD_HTTP_METHOD_NOT_ALLOWED, "POST it, as lines of JSON");
    return request->route->jobs ? jobs(server, connection, request) : command(server, connection, request);
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *data, size_t *size,
                              void **state)
{
    struct server *server = context;
    struct request *request = *state;
    (void)version;
    if (request == NULL) {
        request = *state = rt_calloc(1, sizeof *request);
        request->route = route_of(path);
        return MHD_YES;
    }
    if (*size == 0)
        return finish(server, connection, path, method, request);
    request->too_large |= request->body.length + *size > (size_t)server->options->body_kib << 10 ||
                          memchr(data, '\0', *size) != NULL;
    if (!request->too_large)
        rt_text_add(&request->body, "%.*s", (int)*size, data);
    *size = 0;
    return MHD_YES;
}

static void forget(void *context, struct MHD_Connection *connection, void **state,
                   enum MHD_RequestTerminationCode code)
{
    struct request *request = *state;
    (void)context, (void)connection, (void)code;
    if (request != NULL)
        rt_text_release(&request->body);
    free(request);
    *state = NULL;
}

/* ---- the form ---- */

/* Options of a datalist, of the lines that a shell would complete. */
static char *datalist(void (*suggest)(struct rt_text *))
{
    struct rt_text names = {0}, out = {0};
    suggest(&names);
    for (const char *at = names.text; at != NULL && *at != '\0';) {
        size_t line = strcspn(at, "\n"), name = strcspn(at, "\t\n");
        bool plain = at[0] != ':' && memchr(at, '"', name) == NULL && memchr(at, '&', name) == NULL;
        if (plain && name > 0)
            rt_text_add(&out, "<option value=\"%.*s\">", (int)name, at);
        at += line + (at[line] == '\n');
    }
    rt_text_release(&names);
    return rt_text_take(&out);
}

static char *make_form(void)
{
    const char *text = rt_web_form[0], *models = strstr(text, "<!--models-->"),
               *gpus = strstr(text, "<!--gpus-->");
    char *model_options = datalist(rt_model_suggest), *gpu_options = datalist(rt_device_suggest);
    char *form = rt_format("%.*s%s%.*s%s%s", (int)(models - text), text, model_options, (int)(gpus - models),
                           models, gpu_options, gpus);
    free(model_options);
    free(gpu_options);
    return form;
}

/* ---- serving ---- */

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static int read_address(const struct rt_web_options *options, union address *out, bool *local)
{
    memset(out, 0, sizeof *out);
    out->v4.sin_family = AF_INET;
    out->v4.sin_port = htons((uint16_t)options->port);
    if (inet_pton(AF_INET, options->address, &out->v4.sin_addr) == 1) {
        *local = ntohl(out->v4.sin_addr.s_addr) >> 24 == 127;
        return RT_OK;
    }
    memset(out, 0, sizeof *out);
    out->v6.sin6_family = AF_INET6;
    out->v6.sin6_port = htons((uint16_t)options->port);
    *local = strcmp(options->address, "::1") == 0;
    return inet_pton(AF_INET6, options->address, &out->v6.sin6_addr) == 1
               ? RT_OK
               : rt_fail(RT_EUSAGE,
                         "{listen} %s: give an address of this machine, such as 127.0.0.1, 0.0.0.0 or ::1",
                         options->address);
}

static struct MHD_Daemon *begin(struct server *server, const union address *address)
{
    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL |
                     (address->any.sa_family == AF_INET6 ? MHD_USE_IPv6 : 0u);
    return mhd.MHD_start_daemon_(
        flags, (uint16_t)server->options->port, NULL, NULL, handle, server, MHD_OPTION_SOCK_ADDR,
        &address->any, MHD_OPTION_CONNECTION_LIMIT, (unsigned)MOST_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_SECONDS, MHD_OPTION_THREAD_STACK_SIZE, (size_t)1 << 21 /* JSON may be nested */,
        MHD_OPTION_LISTEN_BACKLOG_SIZE, (unsigned)MOST_CONNECTIONS, MHD_OPTION_NOTIFY_COMPLETED, forget, NULL,
        MHD_OPTION_END);
}

/* Until a signal that the threads do not take. */
static int serve(struct server *server, const union address *address)
{
    sigset_t ends;
    int number;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    signal(SIGPIPE, SIG_IGN);
    struct MHD_Daemon *daemon = begin(server, address);
    if (daemon == NULL)
        return rt_fail(RT_EIO, "%s port %d cannot be had: %s; choose another with {port}",
                       server->options->address, (int)server->options->port, strerror(errno));
    const union MHD_DaemonInfo *info = mhd.MHD_get_daemon_info_(daemon, MHD_DAEMON_INFO_BIND_PORT);
    bool v6 = address->any.sa_family == AF_INET6;
    printf("http://%s%s%s:%u/\n", v6 ? "[" : "", server->options->address, v6 ? "]" : "",
           info != NULL ? info->port : (unsigned)server->options->port);
    fflush(stdout);
    sigwait(&ends, &number);
    mhd.MHD_stop_daemon_(daemon);
    return number == SIGINT ? rt_fail(RT_EINTERRUPTED, "interrupted: it serves no more") : RT_OK;
}

int rt_web_serve(const struct rt_web_options *options)
{
    struct server server = {.options = options};
    union address address;
    int status = open_library();
    if (status == RT_OK)
        status = read_address(options, &address, &server.local);
    if (status != RT_OK)
        return status;
    sem_init(&server.processes, 0, (unsigned)options->limits.processes);
    server.workers = rt_web_workers_new(&options->limits, options->predictor);
    server.form = make_form();
    status = serve(&server, &address);
    rt_web_workers_free(server.workers);
    free(server.form);
    sem_destroy(&server.processes);
    return status;
}
