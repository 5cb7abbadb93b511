/* The C locale for a while. See locale.h. */
#include "base/locale.h"

locale_t rt_c_locale(void)
{
    static locale_t c_locale;
    locale_t current = __atomic_load_n(&c_locale, __ATOMIC_ACQUIRE);
    if (current != (locale_t)0)
        return current;
    locale_t made = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (__atomic_compare_exchange_n(&c_locale, &current, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return made;
    freelocale(made);
    return current;
}

locale_t rt_locale_enter(void)
{
    return uselocale(rt_c_locale());
}

void rt_locale_leave(const locale_t *before)
{
    uselocale(*before);
}
