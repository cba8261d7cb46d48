/* Online backpropagation of one hidden layer of softsign units and logistic outputs, half the squared error.

   V (h, 1 + m) and W (c, 1 + h) have the bias first; the gradient uses the old weights. */

#include <math.h>

void learn(double *V, double *W, const double *X, const double *targets, const long *order, long n, long m, long h,
           long c, double rate) {
    double hidden[h], slope[h], back[h];
    for (long t = 0; t < n; t++) {
        const double *x = X + order[t] * m, *target = targets + order[t] * c;
        for (long j = 0; j < h; j++) {
            const double *v = V + j * (1 + m);
            double sum = v[0];
            for (long i = 0; i < m; i++) sum += v[1 + i] * x[i];
            const double share = 1.0 / (1.0 + fabs(sum));
            hidden[j] = sum * share;
            slope[j] = share * share;
            back[j] = 0.0;
        }
        for (long k = 0; k < c; k++) {
            double *w = W + k * (1 + h), sum = w[0];
            for (long j = 0; j < h; j++) sum += w[1 + j] * hidden[j];
            const double y = 1.0 / (1.0 + exp(-sum)), step = -rate * (y - target[k]) * y * (1.0 - y);
            w[0] += step;
            for (long j = 0; j < h; j++) {
                back[j] += step * w[1 + j];
                w[1 + j] += step * hidden[j];
            }
        }
        for (long j = 0; j < h; j++) {
            double *v = V + j * (1 + m);
            const double step = back[j] * slope[j];
            v[0] += step;
            for (long i = 0; i < m; i++) v[1 + i] += step * x[i];
        }
    }
}
