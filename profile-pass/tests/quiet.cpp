// Compiled without the pass, as a stock library is: it catches what instrumented code throws.
extern "C" int catches_quietly(void (*step)()) {
    try {
        step();
    } catch (...) {
        return 1;
    }
    return 0;
}
