/* What a draw leaves on the stack: no key from which bytes already given, or bytes not
 * given yet, can be made. After each draw the stack below is searched at every fourth
 * byte for 32 bytes whose ChaCha20 keystream (RFC 8439, zero nonce, 64-bit counter) is
 * what was drawn. Chance finds none: 64 equal bytes have odds of 2^-512 a place. */
#include "proof.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { DEPTH = 32768 };
static unsigned char stack[DEPTH], drawn[128 << 10];

static uint32_t rotate(uint32_t x, int n) { return x << n | x >> (32 - n); }

static void quarter(uint32_t *x, int a, int b, int c, int d) {
    x[a] += x[b], x[d] = rotate(x[d] ^ x[a], 16);
    x[c] += x[d], x[b] = rotate(x[b] ^ x[c], 12);
    x[a] += x[b], x[d] = rotate(x[d] ^ x[a], 8);
    x[c] += x[d], x[b] = rotate(x[b] ^ x[c], 7);
}

static void block(const unsigned char *key, uint32_t counter, unsigned char *out) {
    uint32_t in[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}, x[16];
    memcpy(in + 4, key, 32);
    in[12] = counter;
    memcpy(x, in, sizeof x);
    for (int i = 0; i < 10; i++) {
        for (int c = 0; c < 4; c++) quarter(x, c, 4 + c, 8 + c, 12 + c);
        for (int c = 0; c < 4; c++) quarter(x, c, 4 + (c + 1) % 4, 8 + (c + 2) % 4, 12 + (c + 3) % 4);
    }
    for (int i = 0; i < 16; i++) x[i] += in[i];
    memcpy(out, x, 64);
}

/* Clears the stack below, draws, and copies what lies there then. */
static void __attribute__((noinline)) draw(size_t len) {
    volatile unsigned char *top = __builtin_frame_address(0);
    for (volatile unsigned char *at = top - DEPTH; at < top - 256; at++) *at = 0;
    if (getrandom(drawn, len, 0) != (ssize_t)len) exit(2);
    for (int i = 0; i < DEPTH; i++) stack[i] = top[i - DEPTH];
}

int main(void) {
    prove();
    unsigned char out[64], small[16];
    for (int i = 0; i < 3000; i++)
        if (getrandom(small, sizeof small, 0) != sizeof small) return 2;
    size_t large[] = {1024, 8192, 15360, 65536, sizeof drawn};
    for (unsigned k = 0; k < sizeof large / sizeof *large; k++) {
        draw(large[k]);
        for (int at = 0; at + 32 <= DEPTH; at += 4) {
            block(stack + at, 0, out);
            if (!memcmp(out, drawn, 64)) {
                printf("the key of a draw of %zu bytes lies on the stack\n", large[k]);
                return 1;
            }
        }
    }
    /* Small draws: one in 190 refills, and is then given the last bytes of the run. */
    for (int t = 0; t < 400; t++) {
        draw(16);
        for (int at = 0; at + 32 <= DEPTH; at += 4) {
            block(stack + at, 47, out);
            if (!memcmp(out + 48, drawn, 16)) {
                printf("the key of a refill lies on the stack\n");
                return 1;
            }
        }
    }
    return 0;
}
