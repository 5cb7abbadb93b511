/* Changes of a config.json, "gpt2,n_layer=24,n_embd=2048": keys that the architecture's row reads, with
 * values of their own. See config.h. */
#include "base/status.h"
#include "base/text.h"
#include "models/networks/architectures/fields.h"
#include "models/networks/config.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *rt_config_changes(const char *spec)
{
    for (const char *comma = strchr(spec, ','); comma != NULL; comma = strchr(comma + 1, ',')) {
        const char *end = comma + 1;
        while (isalnum((unsigned char)*end) || *end == '_')
            end++;
        if (end > comma + 1 && *end == '=')
            return comma;
    }
    return NULL;
}

/* The row's key that a name of it is read as; NULL: none is. */
static const struct rt_config_key *key_named(const struct rt_architecture *row, const char *name)
{
    for (const struct rt_config_key *key = row->keys; key->key != NULL; key++)
        if (rt_config_reads_as(key, name))
            return key;
    return NULL;
}

static int refuse_key(const struct rt_architecture *row, const char *name, const char *where)
{
    struct rt_text known = {0};
    for (const struct rt_config_key *key = row->keys; key->key != NULL; key++)
        rt_text_item(&known, ", ", "%.*s", (int)strcspn(key->key, " "), key->key);
    int status = rt_fail(RT_EUSAGE, "%s: \"%s\" is no key that the graph of %s is built from; there are %s",
                         where, name, row->what, known.text);
    rt_text_release(&known);
    return status;
}

/* As JSON where it is some: numbers, true, null; else a text. */
static json_t *value_of(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    return value != NULL ? value : json_string(text);
}

/* Whatever the config calls it, there is one of it afterwards. */
static void set_key(json_t *root, const struct rt_config_key *key, const char *name, const char *text)
{
    const char *other;
    json_t *value;
    void *next;
    json_object_foreach_safe(root, next, other, value)
    {
        if (rt_config_reads_as(key, other))
            json_object_del(root, other);
    }
    json_object_set_new(root, name, value_of(text));
}

int rt_config_change(json_t *root, const struct rt_architecture *row, const char *changes, const char *where)
{
    int status = RT_OK;
    char *list = rt_strdup(changes + 1), *next = list;
    for (char *item = next; status == RT_OK && item != NULL; item = next) {
        const char *following = rt_config_changes(item);
        next = following != NULL ? item + (following - item) + 1 : NULL;
        if (next != NULL)
            next[-1] = '\0';
        char *equals = strchr(item, '=');
        if (equals == NULL || equals == item || equals[1] == '\0') {
            status = rt_fail(RT_EUSAGE,
                             "%s: \"%s\" is no change of a config.json; write key=value, such as n_layer=24",
                             where, item);
            continue;
        }
        *equals = '\0';
        const struct rt_config_key *key = key_named(row, item);
        if (key != NULL)
            set_key(root, key, item, equals + 1);
        else
            status = refuse_key(row, item, where);
    }
    free(list);
    return status;
}
