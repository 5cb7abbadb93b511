/*
 * The sequences of a server that decode. Each gets one token in every step that decodes, so nothing is done
 * for each of them in a step: a sequence remembers its tokens less the number of such steps (base) and the
 * step that answers it (until), by which a heap is ordered; the blocks that steps need follow from how many
 * sequences have each remainder of base by the block.
 */
#ifndef ROOFTILE_PREDICT_SERVING_DECODING_H
#define ROOFTILE_PREDICT_SERVING_DECODING_H

#include "predict/serving/lives.h"

struct rt_decoding {
    int64_t count, block;
    int64_t steps;      /* so far */
    double context;     /* all tokens in their caches */
    int64_t *remainder; /* (block) sequences by base modulo block */
    uint32_t *heap;     /* (count) */
    uint32_t *joined;   /* since the last step */
    size_t heap_capacity, joined_count, joined_capacity;
};

void rt_decoding_init(struct rt_decoding *decoding, int64_t block);
void rt_decoding_release(struct rt_decoding *decoding);

/* A sequence with so many tokens in its cache and `made` of its output. */
void rt_decoding_add(struct rt_decoding *decoding, struct rt_lives *lives, uint32_t request, int64_t tokens);
/* One that is not answered yet stops; `made` says how far it came. */
void rt_decoding_remove(struct rt_decoding *decoding, struct rt_lives *lives, uint32_t request);
/* One that the last step answered, no longer decoding; RT_NOBODY: no more. */
uint32_t rt_decoding_answered(struct rt_decoding *decoding, struct rt_lives *lives);

int64_t rt_decoding_tokens(const struct rt_decoding *decoding, const struct rt_live *live);
/* Steps until one is answered; decoding->count > 0. */
int64_t rt_decoding_until(const struct rt_decoding *decoding, const struct rt_lives *lives);
/* New blocks that the next steps need; and the steps, at most `most`, that `room` blocks are enough for. */
int64_t rt_decoding_blocks(const struct rt_decoding *decoding, int64_t steps);
int64_t rt_decoding_room(const struct rt_decoding *decoding, int64_t room, int64_t most);
/* So many steps are over. */
void rt_decoding_advance(struct rt_decoding *decoding, int64_t steps);

#endif
