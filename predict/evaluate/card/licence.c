/* Licences by their names on the Hub. See card_parts.h. */
#include "predict/evaluate/card/card_parts.h"
#include "base/status.h"
#include "base/table.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const known[] = {
    "apache-2.0",
    "mit",
    "bsd-2-clause",
    "bsd-3-clause",
    "cc0-1.0",
    "cc-by-3.0",
    "cc-by-4.0",
    "cc-by-sa-3.0",
    "cc-by-sa-4.0",
    "cc-by-nc-4.0",
    "cc-by-nc-sa-4.0",
    "cc-by-nd-4.0",
    "cc-by-nc-nd-4.0",
    "odc-by",
    "odbl",
    "pddl",
    "cdla-permissive-1.0",
    "cdla-permissive-2.0",
    "cdla-sharing-1.0",
    "gpl-2.0",
    "gpl-3.0",
    "lgpl-2.1",
    "lgpl-3.0",
    "agpl-3.0",
    "mpl-2.0",
    "isc",
    "unlicense",
    "zlib",
    "bsl-1.0",
};

/* The name of the licence that the line begins with, NULL where the Hub has none. */
static const char *find(const char *line, size_t length)
{
    for (size_t i = 0; i < RT_COUNT(known); i++) {
        size_t name = strlen(known[i]);
        if (length >= name && strncasecmp(line, known[i], name) == 0 &&
            (length == name || (!isalnum((unsigned char)line[name]) && strchr("-.", line[name]) == NULL)))
            return known[i];
    }
    return NULL;
}

/* A name for a licence of one's own: letters, digits and dashes. Free with free(). */
static char *own_name(const char *line, size_t length)
{
    char *name = rt_format("%.*s", (int)length, line);
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
        bool letter = isalnum((unsigned char)line[i]) || line[i] == '.';
        if (letter || (count > 0 && name[count - 1] != '-'))
            name[count++] = letter ? (char)tolower((unsigned char)line[i]) : '-';
    }
    while (count > 0 && name[count - 1] == '-')
        count--;
    name[count] = '\0';
    return name;
}

static void add_once(json_t *names, const char *name)
{
    size_t i;
    json_t *there;
    json_array_foreach(names, i, there) if (strcmp(json_string_value(there), name) == 0) return;
    json_array_append_new(names, json_string(name));
}

static void set_other(json_t *front, const char *line, size_t length)
{
    char *name = own_name(line, length);
    json_object_set_new(front, "license", json_string("other"));
    json_object_set_new(front, "license_name", rt_json_text(name[0] != '\0' ? name : "own"));
    free(name);
}

void rt_licence_set(json_t *front, const char *lines)
{
    json_t *names = json_array();
    const char *strange = NULL;
    for (const char *line = lines; *line != '\0';) {
        size_t length = strcspn(line, "\n;");
        const char *name = find(line, length);
        if (name != NULL)
            add_once(names, name);
        else if (length > 0 && strange == NULL)
            strange = line;
        line += length;
        line += strspn(line, "\n; ");
    }
    if (strange != NULL)
        set_other(front, strange, strcspn(strange, "\n;"));
    else if (json_array_size(names) > 0)
        json_object_set(front, "license", json_array_size(names) > 1 ? names : json_array_get(names, 0));
    json_decref(names);
}
