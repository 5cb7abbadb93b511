/*
 * Completion of command lines in bash, zsh and fish. The shells' scripts (completion/) only ask the program,
 * so what they offer is what it takes: commands, options, choices and names, from the rows of options.h.
 *
 *     rooftile completion bash                       the script
 *     rooftile completion words -- predict --gp      what may stand where the last word is, a line each:
 *         --gpu<TAB>A GPU of the catalogue           a word and what it is
 *         :files h5 json                             names of files that end so, of any where none is named
 *         :folders                                   names of folders
 *
 * A row says with .suggests what its option takes; else its choices do, or its argument where that names a
 * file: "P.h5", "FILE", "FOLDER". A row of suggestions is a line of the above; the word alone will do.
 */
#pragma once

#include "base/options.h"

#include <stdio.h>

/* Prints what may stand in place of words[count - 1] ("" where nothing is typed yet), behind the others,
 * which follow the program's name. Nothing where they name no command. */
void rt_completion_words(const struct rt_command *program, const char *const *words, size_t count,
                         FILE *file);

/* Prints the script of that shell. RT_EUSAGE for another. */
int rt_completion_script(const char *shell, FILE *file);
