/* A driver library that initialises: for the machines that tests pretend.

   STUB_CUINIT is what cuInit gives (0), or "crash", or "hang"; STUB_CUDA the version (13000); STUB_CUDA_CARDS how
   many cards there are then (1). */
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct { int code; const char *name; } NAMES[] = {
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"}, {100, "CUDA_ERROR_NO_DEVICE"}, {802, "CUDA_ERROR_SYSTEM_NOT_READY"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"}, {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"},
    {999, "CUDA_ERROR_UNKNOWN"}, {0, NULL}, /* 35 is the runtime's number, and this library has no name for it */
};

static const char *text(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

static int number(const char *name, int otherwise) { return *text(name) ? atoi(text(name)) : otherwise; }

int cuInit(unsigned int flags) {
    (void)flags;
    if (!strcmp(text("STUB_CUINIT"), "crash")) raise(SIGSEGV);
    if (!strcmp(text("STUB_CUINIT"), "hang")) for (;;) pause();
    return number("STUB_CUINIT", 0);
}

int cuDriverGetVersion(int *version) { *version = number("STUB_CUDA", 13000); return 0; }
int cuDeviceGetCount(int *count) { *count = number("STUB_CUDA_CARDS", 1); return 0; }

int cuGetErrorName(int code, const char **name) {
    for (size_t n = 0; NAMES[n].name; n++)
        if (NAMES[n].code == code) { *name = NAMES[n].name; return 0; }
    *name = NULL;
    return 1;
}
