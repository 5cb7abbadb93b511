/* Every number of the catalogue says whence it is, and devices/not-found-again.csv lists what was not found again. */
#include "base/file.h"
#include "base/text.h"
#include "datasets/device.h"
#include "test.h"

#include <jansson.h>

extern const char *const rt_device_catalogue_json[];

/* Is `key` in one of the lists of an object of lists? */
static bool is_listed(const json_t *places, const char *key)
{
    const char *place;
    json_t *keys, *listed;
    size_t k;
    json_object_foreach((json_t *)places, place, keys)
        json_array_foreach(keys, k, listed) if (strcmp(json_string_value(listed), key) == 0) return true;
    return false;
}

static bool is_known(const json_t *device, const char *key)
{
    const json_t *value = json_object_get(device, key);
    return json_is_number(value) || json_is_array(value);
}

static void check_device(const json_t *device)
{
    const char *name = json_string_value(json_object_get(device, "name"));
    const json_t *sources = json_object_get(device, "sources");
    for (size_t f = 0; f < rt_device_field_count; f++) {
        const char *key = rt_device_fields[f].key;
        if (is_known(device, key) && !is_listed(sources, key))
            printf("# %s: %s has no source\n", name, key);
        CU_ASSERT_TRUE(!is_known(device, key) || is_listed(sources, key));
    }
    CU_ASSERT_TRUE(!is_known(device, "mig") || is_listed(sources, "mig"));
}

/* Lists name numbers of the file and nothing else. */
static void check_places(const json_t *device, const char *list)
{
    const char *place;
    json_t *keys, *key;
    size_t k;
    json_object_foreach(json_object_get(device, list), place, keys)
    {
        CU_ASSERT_TRUE(strncmp(place, "https://", 8) == 0 || strncmp(place, "quoted: ", 8) == 0);
        json_array_foreach(keys, k, key)
        {
            bool known = is_known(device, json_string_value(key));
            if (!known)
                printf("# %s: %s, of which it has no number\n", place, json_string_value(key));
            CU_ASSERT_TRUE(known);
        }
    }
}

static void test_numbers_have_sources(void)
{
    for (size_t i = 0; rt_device_catalogue_json[i] != NULL; i++) {
        json_t *device = json_loads(rt_device_catalogue_json[i], 0, NULL);
        check_device(device);
        check_places(device, "sources");
        check_places(device, "checked");
        json_decref(device);
    }
}

/* The row of the list for a device: what was not found again, beside peaks; "" where all was. */
static char *row_of(const json_t *device)
{
    struct rt_text keys = {0}, row = {0};
    for (size_t f = 0; f < rt_device_field_count; f++) {
        const struct rt_device_field *field = &rt_device_fields[f];
        if (!field->peak && is_known(device, field->key) &&
            !is_listed(json_object_get(device, "checked"), field->key))
            rt_text_item(&keys, ", ", "%s", field->key);
    }
    if (keys.text != NULL)
        rt_text_add(&row, strchr(keys.text, ',') != NULL ? "\n%s,\"%s\"\n" : "\n%s,%s\n",
                    json_string_value(json_object_get(device, "name")), keys.text);
    rt_text_release(&keys);
    return rt_text_take(&row);
}

static void test_what_was_not_found_is_listed(void)
{
    char *list;
    size_t size, devices = 0;
    RT_ASSERT_OK(rt_file_read(RT_SOURCE_DIR "/datasets/devices/not-found-again.csv", 1 << 20, &list, &size));
    for (size_t i = 0; rt_device_catalogue_json[i] != NULL; i++) {
        json_t *device = json_loads(rt_device_catalogue_json[i], 0, NULL);
        if (json_object_get(device, "checked") != NULL) {
            char *row = row_of(device);
            if (strstr(list, row) == NULL)
                printf("# datasets/devices/not-found-again.csv lacks: %s", row);
            CU_ASSERT_PTR_NOT_NULL(strstr(list, row));
            free(row);
            devices++;
        }
        json_decref(device);
    }
    CU_ASSERT_TRUE(devices >= 34);
    free(list);
}

RT_TESTS(RT_TEST(test_numbers_have_sources), RT_TEST(test_what_was_not_found_is_listed))
