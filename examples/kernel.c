/* A product of two matrices in blocks. Prints the least of five times, in milliseconds. */
#include <stdio.h>
#include <time.h>

#define N 256

static float a[N][N], b[N][N], c[N][N];

static void multiply(void) {
    for (int ii = 0; ii < N; ii += BLOCK)
        for (int kk = 0; kk < N; kk += BLOCK)
            for (int i = ii; i < ii + BLOCK; i++)
                for (int k = kk; k < kk + BLOCK; k++)
                    for (int j = 0; j < N; j++)
                        c[i][j] += a[i][k] * b[k][j];
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

int main(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            a[i][j] = (i * 7 + j) % 10, b[i][j] = (i + j * 3) % 10;
    double best = 1e9;
    for (int repeat = 0; repeat < 5; repeat++) {
        double begin = now();
        multiply();
        double time = now() - begin;
        best = time < best ? time : best;
    }
    fprintf(stderr, "check %g\n", c[3][5]);
    printf("%.4f\n", best);
    return 0;
}
