/* Reads and writes .safetensors files, for a machine that stores numbers little end first.

     8 bytes    the length of the header
     header     {"name": {"dtype": "F64", "shape": [2, 3], "data_offsets": [begin, end]}, ...}
     the rest   the arrays, the last axis running fastest; the offsets count from here

   Every number becomes a double. What can't be read ends the program with a sentence. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_AXES = 8 };
typedef struct { int axes; size_t shape[MOST_AXES], size; double *data; } Tensor;
typedef struct { char *header; unsigned char *data; size_t size; } Tensors;

static void fail(const char *what, const char *which) {
    fprintf(stderr, "%s: %s\n", which, what);
    exit(2);
}

static void *room(size_t size) {
    void *found = calloc(size ? size : 1, 1);
    if (!found) fail("no memory for it", "tensors");
    return found;
}

static Tensors tensors_open(const char *path) {
    FILE *file = fopen(path, "rb");
    uint64_t length;
    if (!file) fail("can't be opened", path);
    if (fread(&length, 8, 1, file) != 1 || fseek(file, 0, SEEK_END)) fail("no header", path);
    uint64_t whole = (uint64_t)ftell(file);
    if (length > whole - 8) fail("its header is cut", path);
    Tensors made = {room(length + 1), room(whole - 8 - length), whole - 8 - length};
    if (fseek(file, 8, SEEK_SET) || fread(made.header, 1, length, file) != length ||
        fread(made.data, 1, made.size, file) != made.size) fail("can't be read", path);
    fclose(file);
    return made;
}

/* What stands after "key": in a text; quotes inside other texts have a backslash, and don't fit. */
static char *after(char *text, const char *key) {
    char quoted[300];
    snprintf(quoted, sizeof quoted, "\"%s\"", key);
    char *at = text ? strstr(text, quoted) : NULL;
    return at ? at + strlen(quoted) + strspn(at + strlen(quoted), " :") : NULL;
}

static Tensor tensor_like(int axes, const size_t *shape) {
    Tensor made = {.axes = axes, .size = 1};
    for (int a = 0; a < axes; a++) made.size *= made.shape[a] = shape[a];
    made.data = room(made.size * sizeof(double));
    return made;
}

static Tensor tensors_get(const Tensors *from, const char *name) {
    char *entry = after(from->header, name), *dtype = after(entry, "dtype");
    char *at = after(entry, "shape"), *offsets = after(entry, "data_offsets");
    size_t shape[MOST_AXES], begin, end, width;
    int axes = 0;
    if (!dtype || !at || !offsets) fail("isn't in the file", name);
    for (at++; *at != ']'; at += strspn(at, ", ")) {
        if (axes == MOST_AXES) fail("has too many axes", name);
        shape[axes++] = strtoull(at, &at, 10);
    }
    Tensor made = tensor_like(axes, shape);
    begin = strtoull(offsets + 1, &at, 10);
    end = strtoull(at + strspn(at, ", "), NULL, 10);
    width = !strncmp(dtype, "\"BOOL", 5) ? 1 : !strncmp(dtype, "\"F32", 4) ? 4 : 8;
    if (width == 8 && strncmp(dtype, "\"F64", 4) && strncmp(dtype, "\"I64", 4))
        fail("is of another type than F64, F32, I64, BOOL", name);
    if (end > from->size || end - begin != made.size * width) fail("isn't whole", name);
    for (size_t n = 0; n < made.size; n++) {
        const unsigned char *place = from->data + begin + n * width;
        float single;
        int64_t whole;
        if (width == 1) made.data[n] = *place != 0;
        else if (width == 4) memcpy(&single, place, 4), made.data[n] = single;
        else if (dtype[1] == 'F') memcpy(&made.data[n], place, 8);
        else memcpy(&whole, place, 8), made.data[n] = (double)whole;
    }
    return made;
}

static void tensors_write(const char *path, int count, const char **names, const Tensor *tensors) {
    char *header = room(400 * (size_t)count + 16), *at = header;
    size_t begin = 0;
    for (int n = 0; n < count; n++) {
        at += sprintf(at, "%s\"%.200s\":{\"dtype\":\"F64\",\"shape\":[", n ? "," : "{", names[n]);
        for (int a = 0; a < tensors[n].axes; a++)
            at += sprintf(at, "%s%zu", a ? "," : "", tensors[n].shape[a]);
        at += sprintf(at, "],\"data_offsets\":[%zu,%zu]}", begin, begin + 8 * tensors[n].size);
        begin += 8 * tensors[n].size;
    }
    at += sprintf(at, "}");
    while ((at - header) % 8) *at++ = ' '; /* the arrays begin at a multiple of 8 */
    uint64_t length = (uint64_t)(at - header);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(&length, 8, 1, file) != 1 || fwrite(header, 1, length, file) != length)
        fail("can't be written", path);
    for (int n = 0; n < count; n++)
        if (fwrite(tensors[n].data, 8, tensors[n].size, file) != tensors[n].size)
            fail("can't be written", path);
    if (fclose(file)) fail("can't be written", path);
    free(header);
}
