/* BibTeX of rooftile and of the sources of measurements that it knows. */
#ifndef ROOFTILE_PREDICT_EVALUATE_CARD_CITATION_H
#define ROOFTILE_PREDICT_EVALUATE_CARD_CITATION_H

/* The entries: rooftile, those whose mark is in `sources`, and `own`, a BibTeX text (NULL: none). Free with
 * free(). */
char *rt_citations(const char *sources, const char *own);

#endif
