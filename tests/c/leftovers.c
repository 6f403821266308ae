/* What a draw leaves on the stack and in vector registers: no key from which bytes already
 * given, or bytes not given yet, can be made, and in registers none of the bytes themselves,
 * which a core file would show although the caller wiped its copy. After each draw the registers and the stack
 * below are searched at every fourth byte for 32 bytes whose ChaCha20 keystream (RFC 8439, zero nonce, 64-bit counter) is
 * what was drawn. Chance finds none: 64 equal bytes have odds of 2^-512 a place. */
#include "proof.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { DEPTH = 32768, PAINT = 0xa5, MOST_STACK = 2048 };
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

/* xmm0 to 15, or, where the processor has them, zmm0 to 31: what a draw left there. */
static unsigned char registers[2048] __attribute__((aligned(64)));

#define SAVE(n) "vmovdqa64 %%zmm" #n ", " #n "*64(%0)\n"
#define SAVE_8(a, b, c, d, e, f, g, h) SAVE(a) SAVE(b) SAVE(c) SAVE(d) SAVE(e) SAVE(f) SAVE(g) SAVE(h)
#define SAVE_SHORT(n) "movaps %%xmm" #n ", " #n "*64(%0)\n"

static inline __attribute__((always_inline)) void save_registers(int wide) {
    if (wide)
        __asm__ volatile(SAVE_8(0, 1, 2, 3, 4, 5, 6, 7) SAVE_8(8, 9, 10, 11, 12, 13, 14, 15)
                         SAVE_8(16, 17, 18, 19, 20, 21, 22, 23) SAVE_8(24, 25, 26, 27, 28, 29, 30, 31)
                         ::"r"(registers) : "memory");
    else
        __asm__ volatile(SAVE_SHORT(0) SAVE_SHORT(1) SAVE_SHORT(2) SAVE_SHORT(3) SAVE_SHORT(4)
                         SAVE_SHORT(5) SAVE_SHORT(6) SAVE_SHORT(7) SAVE_SHORT(8) SAVE_SHORT(9)
                         SAVE_SHORT(10) SAVE_SHORT(11) SAVE_SHORT(12) SAVE_SHORT(13)
                         SAVE_SHORT(14) SAVE_SHORT(15) ::"r"(registers) : "memory");
}

/* Whether two of the 16-byte lanes there make a key of which this block begins so. The
 * cipher holds a key in two rows, in a register each. */
static int in_registers(uint32_t counter, const unsigned char *wanted, int at, int len) {
    static const unsigned char zero[16];
    unsigned char lanes[128][16], key[32], out[64];
    int count = 0;
    for (unsigned from = 0; from < sizeof registers; from += 16) {
        int known = !memcmp(registers + from, zero, 16);
        for (int i = 0; i < count; i++) known |= !memcmp(registers + from, lanes[i], 16);
        if (!known) memcpy(lanes[count++], registers + from, 16);
    }
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            memcpy(key, lanes[i], 16), memcpy(key + 16, lanes[j], 16);
            block(key, counter, out);
            if (!memcmp(out + at, wanted, len)) return 1;
        }
    return 0;
}

/* Whether 8 bytes of what was drawn lie in a register. Chance puts none there: fewer than 2^23
   pairs in all, odds below 2^-41. */
static int drawn_in_registers(size_t len) {
    for (unsigned from = 0; from + 8 <= sizeof registers; from += 4)
        for (size_t at = 0; at + 8 <= len; at++)
            if (!memcmp(registers + from, drawn + at, 8)) return 1;
    return 0;
}

/* Paints the stack below, draws, and copies what lies there then. Callers need have room
   for no more than MOST_STACK bytes of it. */
static void __attribute__((noinline)) draw(size_t len) {
    int wide = __builtin_cpu_supports("avx512f");
    volatile unsigned char *top = __builtin_frame_address(0);
    for (volatile unsigned char *at = top - DEPTH; at < top - 256; at++) *at = PAINT;
    const unsigned char *pointer;
    __asm__ volatile("mov %%rsp, %0" : "=r"(pointer));
    ssize_t done = getrandom(drawn, len, 0);
    save_registers(wide);
    if (done != (ssize_t)len) exit(2);
    for (int i = 0; i < DEPTH; i++) stack[i] = top[i - DEPTH];
    int lowest = 0;
    while (stack[lowest] == PAINT) lowest++;
    long used = pointer - (const unsigned char *)(top - DEPTH + lowest);
    if (used > MOST_STACK) {
        printf("a draw of %zu bytes takes %ld bytes of stack\n", len, used);
        exit(4);
    }
}

int main(void) {
    prove();
    unsigned char out[64], small[16];
    for (int i = 0; i < 3000; i++)
        if (getrandom(small, sizeof small, 0) != sizeof small) return 2;
    /* What is put there is found. */
    unsigned char key[32];
    for (int i = 0; i < 32; i++) key[i] = (unsigned char)(i + 1);
    __asm__ volatile("movups (%0), %%xmm7\nmovups 16(%0), %%xmm3" ::"r"(key) : "xmm3", "xmm7", "memory");
    save_registers(__builtin_cpu_supports("avx512f"));
    block(key, 0, out);
    if (!in_registers(0, out, 0, 64)) return 3;
    memcpy(drawn, key, sizeof key);
    if (!drawn_in_registers(sizeof key)) return 3;
    for (size_t len = 8; len <= 300; len += 1 + len / 16) {
        draw(len);
        if (drawn_in_registers(len)) {
            printf("bytes of a draw of %zu lie in registers\n", len);
            return 1;
        }
    }
    size_t large[] = {1024, 8192, 15360, 65536, sizeof drawn};
    for (unsigned k = 0; k < sizeof large / sizeof *large; k++) {
        draw(large[k]);
        if (in_registers(0, drawn, 0, 64)) {
            printf("the key of a draw of %zu bytes lies in registers\n", large[k]);
            return 1;
        }
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
        if (in_registers(47, drawn, 48, 16)) {
            printf("the key of a refill lies in registers\n");
            return 1;
        }
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
