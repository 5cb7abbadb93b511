/* xoshiro256** of Blackman and Vigna, seeded through splitmix64: see random.h. */
#include "base/random.h"

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void rt_random_seed(struct rt_random *random, uint64_t seed, uint64_t stream)
{
    uint64_t mixed = splitmix(&seed) ^ splitmix(&stream) * 0xd1342543de82ef95u;
    for (int i = 0; i < 4; i++)
        random->state[i] = splitmix(&mixed);
}

static uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

uint64_t rt_random_next(struct rt_random *random)
{
    uint64_t *s = random->state, result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

double rt_random_uniform(struct rt_random *random)
{
    return (double)(rt_random_next(random) >> 11) * 0x1p-53;
}

uint64_t rt_random_below(struct rt_random *random, uint64_t limit)
{
    /* The first 2^64 mod limit values would make small results likelier: rejected. */
    uint64_t skip = -limit % limit, x;
    do
        x = rt_random_next(random);
    while (x < skip);
    return x % limit;
}

void rt_random_shuffle(struct rt_random *random, uint32_t *item, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = rt_random_below(random, i);
        uint32_t other = item[j];
        item[j] = item[i - 1];
        item[i - 1] = other;
    }
}
