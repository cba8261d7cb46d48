/* Multiply-adds in registers alone: what one core can do at most. */

typedef double vector __attribute__((vector_size(64)));

double multiply_add(long n) {
    vector sums[16], a, b;
    for (int k = 0; k < 8; k++) a[k] = 1.0 - 1e-9 * k, b[k] = 1e-9 * k;
    for (int j = 0; j < 16; j++) sums[j] = a * (double)j;
    for (long i = 0; i < n; i++)
        for (int j = 0; j < 16; j++) sums[j] = sums[j] * a + b;
    double total = 0.0;
    for (int j = 0; j < 16; j++)
        for (int k = 0; k < 8; k++) total += sums[j][k];
    return total;
}
