// Loaded before libdispatch under valgrind, whose handling of sigsuspend (3.19) writes into the
// caller's mask; libdispatch keeps that in read-only memory. This one hands over a copy.
#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int sigsuspend(const sigset_t *mask) {
    sigset_t copy = *mask;
    return (int)syscall(SYS_rt_sigsuspend, &copy, _NSIG / 8);
}
