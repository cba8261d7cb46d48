/* GHA, one sample after another, the residual carried from row to row: 3 l m multiply-adds a sample. */

void learn(double *W, const double *X, const double *mean, const long *order, long n, long l, long m, double rate) {
    double x[m], y[l];
    for (long t = 0; t < n; t++) {
        const double *sample = X + order[t] * m;
        for (long i = 0; i < m; i++) x[i] = sample[i] - mean[i];
        for (long j = 0; j < l; j++) {
            y[j] = 0.0;
            for (long i = 0; i < m; i++) y[j] += W[j * m + i] * x[i];
        }
        for (long j = 0; j < l; j++) {
            const double output = y[j], step = rate * output;
            for (long i = 0; i < m; i++) {
                x[i] -= output * W[j * m + i];
                W[j * m + i] += step * x[i];
            }
        }
    }
}
