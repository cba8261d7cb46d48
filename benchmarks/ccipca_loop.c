/* CCIPCA, one sample after another: centred by the mean so far, each row learns from what those before it leave. */

#include <math.h>

void learn(double *V, double *mean, const double *X, long n, long l, long m, double amnesia) {
    double x[m];
    long n_rows = 0;
    for (long t = 0; t < n; t++) {
        for (long i = 0; i < m; i++) {
            mean[i] += (X[t * m + i] - mean[i]) / (t + 1);
            x[i] = X[t * m + i] - mean[i];
        }
        if (t == 0) continue;
        const double weight = fmin(1.0, (1.0 + amnesia) / t);
        for (long j = 0; j < n_rows; j++) {
            double *v = V + j * m, square = 0.0, product = 0.0;
            for (long i = 0; i < m; i++) square += v[i] * v[i], product += v[i] * x[i];
            const double step = weight * product / sqrt(square);
            square = product = 0.0;
            for (long i = 0; i < m; i++) {
                v[i] = (1.0 - weight) * v[i] + step * x[i];
                square += v[i] * v[i], product += v[i] * x[i];
            }
            for (long i = 0; i < m; i++) x[i] -= product / square * v[i];
        }
        if (n_rows < l) {
            double square = 0.0;
            for (long i = 0; i < m; i++) square += x[i] * x[i];
            for (long i = 0; i < m; i++) V[n_rows * m + i] = weight * sqrt(square) * x[i];
            n_rows++;
        }
    }
}
