/* What a terminal would act on, escaped. See printable.h. */
#include "base/printable.h"

#include <stdio.h>
#include <string.h>

size_t rt_utf8(const char *text, unsigned *code)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *byte = (const unsigned char *)text;
    size_t length = byte[0] < 0x80 ? 1 : byte[0] < 0xc0 ? 0 : byte[0] < 0xe0 ? 2 : byte[0] < 0xf0 ? 3 : 4;
    if (length < 2) {
        *code = byte[0];
        return length;
    }
    unsigned value = byte[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((byte[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (byte[i] & 0x3f);
    }
    *code = value;
    bool whole = value >= least[length] && value <= 0x10ffff && (value < 0xd800 || value > 0xdfff);
    return whole ? length : 0;
}

bool rt_is_control(unsigned code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e ||
           code == 0x200f || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

/* The escape of what stands at `text`, or the character itself, and its length there. */
static size_t next(const char *text, bool lines, char piece[static 8])
{
    unsigned code = 0;
    size_t length = rt_utf8(text, &code);
    if (length > 0 && (!rt_is_control(code) || (lines && code == '\n'))) {
        memcpy(piece, text, length);
        piece[length] = '\0';
        return length;
    }
    if (length == 0)
        code = (unsigned char)text[0];
    snprintf(piece, 8, length == 0 || code < 0x80 ? "\\x%02x" : "\\u%04x", code);
    return length > 0 ? length : 1;
}

size_t rt_printable(char *out, size_t size, const char *text, bool lines)
{
    size_t used = 0;
    char piece[8];
    bool room = true;
    for (size_t at = 0; text[at] != '\0';) {
        at += next(text + at, lines, piece);
        size_t length = strlen(piece);
        room = room && used + length < size;
        if (room)
            memcpy(out + used, piece, length);
        if (!room && used < size)
            size = used + 1; /* nothing behind what did not fit */
        used += length;
    }
    if (size > 0)
        out[used < size ? used : size - 1] = '\0';
    return used;
}

bool rt_is_utf8(const char *text)
{
    unsigned code;
    size_t length = 1;
    for (; length > 0 && *text != '\0'; text += length)
        length = rt_utf8(text, &code);
    return length > 0;
}
