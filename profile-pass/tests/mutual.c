/* Mutual recursion by guaranteed tail calls: deeper than any stack. */
int mutual_even(unsigned long n);
static __attribute__((noinline)) int odd(unsigned long n) {
    if (n == 0)
        return 0;
    __attribute__((musttail)) return mutual_even(n - 1);
}

__attribute__((noinline)) int mutual_even(unsigned long n) {
    if (n == 0)
        return 1;
    __attribute__((musttail)) return odd(n - 1);
}
