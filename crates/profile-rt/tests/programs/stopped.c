/* stopped LIBRARY TRACE...: for each trace, works in the library (of plugin.c) and closes it while another
 * thread stops the recording. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <tailwater/profile.h>

static void *stops(void *unused) {
    tw_profile_stop();
    return unused;
}

int main(int argc, char **argv) {
    for (int at = 2; at < argc; at++) {
        if (tw_profile_start(argv[at]) != 0)
            return 1;
        void *library = dlopen(argv[1], RTLD_NOW);
        void (**work)(pthread_mutex_t *, long) = library ? dlsym(library, "plugin") : NULL;
        if (!work) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        (*work)(NULL, 5000);
        pthread_t thread;
        pthread_create(&thread, NULL, stops, NULL);
        dlclose(library);
        pthread_join(thread, NULL);
    }
    return 0;
}
