/* Chips of devices. See chips.h. */
#include "datasets/chips.h"
#include "base/strings.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* The word of a name that tells the chip. */
static void word_of(const char *name, char *out, size_t size)
{
    for (const char *at = name; *at != '\0';) {
        size_t length = strcspn(at, " -_()/,:"), digit = strcspn(at, "0123456789");
        if (digit < length && length > 1 && length < size) {
            memcpy(out, at, length);
            out[length] = '\0';
            return;
        }
        at += length + (at[length] != '\0');
    }
    snprintf(out, size, "%s", name);
}

void rt_chip_word(const struct rt_device *device, char *out, size_t size)
{
    if (device->chip[0] != '\0')
        snprintf(out, size, "%s", device->chip);
    else
        word_of(device->name, out, size);
}

static bool is_grace_of(const char *grace, const char *chip)
{
    return toupper((unsigned char)grace[0]) == 'G' && isalpha((unsigned char)chip[0]) &&
           rt_name_equal(grace + 1, chip);
}

bool rt_chip_same(const struct rt_device *a, const struct rt_device *b)
{
    char word[2][96];
    rt_chip_word(a, word[0], sizeof word[0]);
    rt_chip_word(b, word[1], sizeof word[1]);
    return rt_name_equal(word[0], word[1]) || is_grace_of(word[0], word[1]) || is_grace_of(word[1], word[0]);
}
