/* Linked with a library of plugin.c. */
#include <pthread.h>

extern void (*const plugin)(pthread_mutex_t *, long);

int main(void) {
    plugin(0, 20000);
    return 0;
}
