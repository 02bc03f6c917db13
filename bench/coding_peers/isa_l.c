/* ISA-L under the conditions of `farspan-lab bench coding`: the same codes, segment size, working sets, batches and medians. Prints one
 * JSON document of the same form; `decode_planned_bytes_per_s` keeps the inverted matrix, `decode_bytes_per_s` inverts it for each
 * block. Compiled and run by run.py. */
#define _GNU_SOURCE
#include <isa-l/erasure_code.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SHARD = 4096, BATCH = 64, MOST = 64 };
static const size_t COLD = 256u << 20;
static const double SECONDS = 0.05;

typedef struct {
    int x, y, losses;
    size_t blocks;
    unsigned char matrix[MOST * MOST], tables[32 * MOST * MOST], plan[32 * MOST * MOST];
} Code;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

static void pointers(const Code *c, unsigned char *block, unsigned char **segments)
{
    for (int i = 0; i < c->x + c->y; i++)
        segments[i] = block + (size_t)i * SHARD;
}

static void encode(Code *c, unsigned char *block)
{
    unsigned char *segments[MOST];
    pointers(c, block, segments);
    ec_encode_data(SHARD, c->x, c->y, c->tables, segments, segments + c->x);
}

/* The first segments are lost: the rest of the data and as much parity are read. */
static void make_plan(Code *c)
{
    unsigned char rows[MOST * MOST], inverse[MOST * MOST];
    memcpy(rows, c->matrix + c->losses * c->x, (size_t)c->x * c->x);
    if (gf_invert_matrix(rows, inverse, c->x) != 0)
        exit(1);
    ec_init_tables(c->x, c->losses, inverse, c->plan);
}

static void decode_planned(Code *c, unsigned char *block)
{
    unsigned char *segments[MOST];
    pointers(c, block, segments);
    ec_encode_data(SHARD, c->x, c->losses, c->plan, segments + c->losses, segments);
}

static void decode(Code *c, unsigned char *block)
{
    make_plan(c);
    decode_planned(c, block);
}

static double rate(Code *c, unsigned char *memory, void (*work)(Code *, unsigned char *))
{
    static double rates[1 << 20];
    size_t count = 0, block = (size_t)(c->x + c->y) * SHARD;
    size_t passes = c->blocks < BATCH ? BATCH / c->blocks : 1;
    for (size_t b = 0; b < c->blocks; b++)
        work(c, memory + b * block);
    for (double began = now(); now() - began < SECONDS;) {
        for (size_t first = 0; first < c->blocks; first += BATCH) {
            size_t last = first + BATCH < c->blocks ? first + BATCH : c->blocks;
            double batch = now();
            for (size_t pass = 0; pass < passes; pass++)
                for (size_t b = first; b < last; b++)
                    work(c, memory + b * block);
            if (count < sizeof rates / sizeof *rates)
                rates[count++] = (double)(passes * (last - first) * c->x * SHARD) / (now() - batch);
        }
    }
    qsort(rates, count, sizeof *rates, ascending);
    return rates[(count - 1) / 2];
}

int main(void)
{
    static const int codes[][2] = {{8, 2}, {4, 1}, {10, 4}, {20, 4}};
    static Code c;
    unsigned char *memory = aligned_alloc(64, COLD), lost[2 * SHARD];
    if (memory == NULL)
        return 1;
    uint64_t draw = 1;
    for (size_t i = 0; i < COLD; i++)
        memory[i] = (draw = draw * 6364136223846793005u + 1442695040888963407u) >> 56;
    printf("{\"benchmarks\": [");
    for (int n = 0; n < 8; n++) {
        c.x = codes[n / 2][0], c.y = codes[n / 2][1], c.losses = c.y < 2 ? c.y : 2;
        c.blocks = n % 2 == 0 ? 1 : COLD / ((size_t)(c.x + c.y) * SHARD);
        gf_gen_cauchy1_matrix(c.matrix, c.x + c.y, c.x);
        ec_init_tables(c.x, c.y, c.matrix + c.x * c.x, c.tables);
        double encoded = rate(&c, memory, encode);
        memcpy(lost, memory, (size_t)c.losses * SHARD);
        memset(memory, 0, (size_t)c.losses * SHARD);
        double decoded = rate(&c, memory, decode), planned = rate(&c, memory, decode_planned);
        if (memcmp(lost, memory, (size_t)c.losses * SHARD) != 0)
            return 1;
        printf("%s\n {\"name\": \"mds_%d_%d%s\", \"encode_bytes_per_s\": %.0f, \"decode_bytes_per_s\": %.0f, "
               "\"decode_planned_bytes_per_s\": %.0f}",
               n ? "," : "", c.x, c.y, n % 2 ? "_cold" : "", encoded, decoded, planned);
    }
    printf("\n]}\n");
    return 0;
}
