/* `rooftile --version`: what the program is built of, and what it finds. */
#ifndef ROOFTILE_ABOUT_H
#define ROOFTILE_ABOUT_H

/* Prints "rooftile 0.1.0" and a line each for the revision, the compiler, libraries and tools; all of it as
 * JSON where argv[2] is --json. RT_EUSAGE for other words behind --version. */
int rt_about(int argc, char **argv);

#endif
