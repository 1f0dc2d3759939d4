/* Compiled to see whether a flag or a header is there. */
int main() { return 0; }
