/* Nothing waits where there is one thread. */
#define FUTEX_WAIT_PRIVATE 0
#define FUTEX_WAKE_PRIVATE 1
#define SYS_futex 240
