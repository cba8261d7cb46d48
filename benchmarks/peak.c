/* What one core can do at most: multiply-adds in registers alone, and with other operations among them.

Sixteen multiply-adds a round, each of eight numbers. The others do not depend on them, so that what a round takes
longer is the places of multiply-adds that the others take. */

typedef double vector __attribute__((vector_size(64)));

/* How many others there are to sixteen multiply-adds: about as many as in a net's passes, few divisions and stores. */
enum { MANY = 8, FEW = 2 };

static vector room[MANY];

#define ROUNDS(name, others)                                                          \
    double name(long n) {                                                             \
        vector sums[16], other[MANY], a, b;                                           \
        for (int k = 0; k < 8; k++) a[k] = 1.0 - 1e-9 * k, b[k] = 1e-9 * k;           \
        for (int j = 0; j < 16; j++) sums[j] = a * (double)j;                         \
        for (int j = 0; j < MANY; j++) other[j] = a + (double)j;                      \
        for (long i = 0; i < n; i++) {                                                \
            for (int j = 0; j < 16; j++) sums[j] = sums[j] * a + b;                   \
            others;                                                                   \
        }                                                                             \
        double total = 0.0;                                                           \
        for (int j = 0; j < 16; j++)                                                  \
            for (int k = 0; k < 8; k++) total += sums[j][k] + other[j % MANY][k];     \
        return total;                                                                 \
    }

ROUNDS(multiply_add, )
ROUNDS(multiply, for (int j = 0; j < MANY; j++) other[j] = other[j] * a)
ROUNDS(add, for (int j = 0; j < MANY; j++) other[j] = other[j] + b)
ROUNDS(divide, for (int j = 0; j < FEW; j++) other[j] = a / other[j])
ROUNDS(load, for (int j = 0; j < MANY; j++)(void)*(volatile vector *)&room[j])
ROUNDS(store, for (int j = 0; j < FEW; j++) *(volatile vector *)&room[j] = b)
