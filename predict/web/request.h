/*
 * What a client of `rooftile web` asks for: fields by name, as a form or as JSON, which become words of a
 * command. No word can name a file of the machine: a value with a path in it is refused, and so are options
 * that write or that read lists of their own. A config.json comes as a text, the field "config", and is put
 * beside the command.
 */
#pragma once

#include "base/options.h"

#include <jansson.h>

struct rt_web_words {
    const char **word; /* owned, NULL behind the last */
    size_t count;
    char *config; /* the text of a config.json that --model names; NULL: none */
};
void rt_web_words_release(struct rt_web_words *words);
/* Takes the text. */
void rt_web_words_add(struct rt_web_words *words, char *word);

/* Could the text name a file that is not in the folder of a process? Names of the Hub, "Qwen/Qwen3-8B", could
 * not. */
bool rt_web_is_path(const char *text);

/* The texts in JSON, at any depth: RT_EUSAGE where one is a path or longer than a name is. */
int rt_web_check(const json_t *value);

/* {"rooftile", "predict", "--batch=8", ...} of {"batch": 8, "gpu": ["H100", "B200"]}; empty texts, null and
 * false say nothing. `only`: fields that are taken, spaces between, and others are left out (of a form);
 * NULL: what the command does not have is RT_EUSAGE. */
int rt_web_words_of(const struct rt_command *command, const json_t *fields, const char *only,
                    struct rt_web_words *out);

/* A field more; what is given twice becomes a list. Takes the value. */
void rt_web_add_value(json_t *fields, const char *name, json_t *value);
