/* Licences by the names that the Hugging Face Hub knows: its page "Licenses". */
#ifndef ROOFTILE_PREDICT_EVALUATE_CARD_LICENCE_H
#define ROOFTILE_PREDICT_EVALUATE_CARD_LICENCE_H

#include <jansson.h>

/* Sets "license" of the front matter to the names of the licences that the lines say, each once; to "other"
 * with "license_name" where one of them is not known there; to nothing where no line says anything. A line is
 * its licence, then anything: "Apache-2.0, copyright 2025 ...". */
void rt_licence_set(json_t *front, const char *lines);

#endif
