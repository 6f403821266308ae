/* What a simple library would do, for the tests to find fault with: a buffer of kernel
 * bytes, handed out from the end and erased. PLAIN: in ordinary memory. Otherwise in a
 * page that is wiped on fork, as if that were enough. */
#define _GNU_SOURCE
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct page {
    size_t available;
    unsigned char bytes[4000];
} * page;

__attribute__((visibility("default"))) ssize_t getrandom(void *dest, size_t len, unsigned flags) {
    if (len > sizeof page->bytes)
        return syscall(SYS_getrandom, dest, len, flags);
    if (!page) {
        page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#ifndef PLAIN
        madvise(page, 4096, MADV_WIPEONFORK);
#endif
    }
    size_t available = page->available;
    if (available < len) {
        for (size_t done = 0; done < sizeof page->bytes; done += 200)
            syscall(SYS_getrandom, page->bytes + done, 200, 0);
        available = sizeof page->bytes;
    }
    available -= len;
    memcpy(dest, page->bytes + available, len);
    memset(page->bytes + available, 0, len);
    page->available = available;
    return (ssize_t)len;
}
