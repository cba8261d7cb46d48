/* What one core can do at most: multiply-adds in registers alone, and with other operations among them.

The vectors are the widest of the processor that the compiler is told of, and fill its registers: the sums of a turn,
two factors, and four others. The others do not depend on the sums, so that what a turn takes longer is the places of
multiply-adds that the others take. */

#if defined(__AVX512F__)
enum { BYTES = 64, REGISTERS = 32 };
#elif defined(__AVX__)
enum { BYTES = 32, REGISTERS = 16 };
#elif defined(__aarch64__)
enum { BYTES = 16, REGISTERS = 32 };
#else
enum { BYTES = 16, REGISTERS = 16 };
#endif

/* Products of the same vectors in several turns are all made. */
#pragma GCC optimize("no-associative-math")

enum { NUMBERS = BYTES / 8, OTHERS = 4, SUMS = REGISTERS - OTHERS - 2, TURNS = 4 };

typedef double vector __attribute__((vector_size(BYTES)));

static vector room[OTHERS];

/* Unknown to the compiler, which would leave out a sum that it can predict. */
static volatile double one = 1.0;

/* Multiply-adds of a turn, and the numbers in each. */
long sums_of_a_turn(void) { return SUMS; }
long numbers_of_a_sum(void) { return NUMBERS; }

/* Unrolled in full, or the sums would be an array in memory: gcc's own limit is below 26 vectors. */
#define EACH_SUM _Pragma("GCC unroll 32") for (int j = 0; j < SUMS; j++)

/* n loops of four turns; ``others`` comes after the sums of turn t. */
#define TURNS_WITH(name, others)                                                      \
    double name(long n) {                                                             \
        vector sums[SUMS], other[OTHERS], a, b;                                       \
        for (int k = 0; k < NUMBERS; k++) a[k] = one - 1e-9 * k, b[k] = one * 1e-9;   \
        EACH_SUM sums[j] = a * (double)j;                                             \
        for (int j = 0; j < OTHERS; j++) other[j] = a * (one + j);                    \
        for (long i = 0; i < n; i++)                                                  \
            _Pragma("GCC unroll 4") for (int t = 0; t < TURNS; t++) {                 \
                EACH_SUM sums[j] = sums[j] * a + b;                                   \
                others;                                                               \
            }                                                                         \
        double total = 0.0;                                                           \
        EACH_SUM                                                                      \
            for (int k = 0; k < NUMBERS; k++) total += sums[j][k] + other[j % OTHERS][k]; \
        return total;                                                                 \
    }

/* Four multiplications, additions or loads to a turn, about as many as in a net's passes; few divisions and stores. */
TURNS_WITH(multiply_add, )
TURNS_WITH(multiply, for (int j = 0; j < OTHERS; j++) other[j] = other[j] * a)
TURNS_WITH(add, for (int j = 0; j < OTHERS; j++) other[j] = other[j] + b)
TURNS_WITH(divide, other[t] = a / other[t])
TURNS_WITH(load, for (int j = 0; j < OTHERS; j++)(void)*(volatile vector *)&room[j])
TURNS_WITH(store, *(volatile vector *)&room[t] = b)
