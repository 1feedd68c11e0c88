/* Softmax, forward and backward, as handformer calls it.

       gcc -O3 -shared -fPIC softmax.c -o softmax.so -lm
       handformer check --op softmax --with ./softmax.so
       handformer check --op softmax --direction backward --with ./softmax.so

   forward    in[0] x         out[0] y
   backward   in[0] d_y, in[1] y      out[0] d_x
   Rows are the last axis; there may be any number of axes before it. */

#include <math.h>
#include <stdint.h>

static int64_t rows_of(const int64_t *shape, int rank) {
    int64_t rows = 1;
    for (int axis = 0; axis < rank - 1; axis++) rows *= shape[axis];
    return rows;
}

int handformer_forward(
    int n_in, const void *const *in, const int64_t *const *in_shape, const int *in_rank,
    int n_out, void *const *out, const int64_t *const *out_shape, const int *out_rank,
    const double *scalars)
{
    if (n_in != 1 || n_out != 1) return 1;
    const float *x = in[0];
    float *y = out[0];
    int64_t width = in_shape[0][in_rank[0] - 1], rows = rows_of(in_shape[0], in_rank[0]);
    for (int64_t row = 0; row < rows; row++, x += width, y += width) {
        float top = x[0], total = 0;
        for (int64_t i = 1; i < width; i++)
            if (x[i] > top) top = x[i];
        for (int64_t i = 0; i < width; i++) total += y[i] = expf(x[i] - top);
        for (int64_t i = 0; i < width; i++) y[i] /= total;
    }
    return 0;
}

int handformer_backward(
    int n_in, const void *const *in, const int64_t *const *in_shape, const int *in_rank,
    int n_out, void *const *out, const int64_t *const *out_shape, const int *out_rank,
    const double *scalars)
{
    if (n_in != 2 || n_out != 1) return 1;
    const float *d_y = in[0], *y = in[1];
    float *d_x = out[0];
    int64_t width = in_shape[0][in_rank[0] - 1], rows = rows_of(in_shape[0], in_rank[0]);
    for (int64_t row = 0; row < rows; row++, d_y += width, y += width, d_x += width) {
        float along = 0;
        for (int64_t i = 0; i < width; i++) along += d_y[i] * y[i];
        for (int64_t i = 0; i < width; i++) d_x[i] = y[i] * (d_y[i] - along);
    }
    return 0;
}
