/* NVIDIA's management library for the machines that tests pretend: the cards in STUB_CARDS, each of 141 GB.

   In use are STUB_BEFORE_MIB (400), and STUB_OWN_MIB (1024) for each process of an application on this machine:
   one whose environment holds GPU_PILOT_TOLD and the same STUB_MACHINE as this process's own. With STUB_IDLE none
   of them is on a card. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned int pid; unsigned long long used; unsigned int gpu, compute; } process_t;
typedef struct { unsigned int gpu, memory; } rates_t;
enum { SUCCESS = 0, DRIVER_NOT_LOADED = 9, INSUFFICIENT_SIZE = 7, NOT_SUPPORTED = 3 };

static long long number(const char *name, long long otherwise) {
    const char *value = getenv(name);
    return value && *value ? atoll(value) : otherwise;
}

static unsigned int count(void) {
    const char *cards = getenv("STUB_CARDS");
    unsigned int found = cards && *cards;
    for (; found && *cards; cards++) found += *cards == ',';
    return found;
}

static int holds(const char *block, size_t size, const char *wanted) {
    for (const char *at = block; at < block + size; at += strlen(at) + 1)
        if (!strncmp(at, wanted, strlen(wanted))) return 1;
    return 0;
}

static int is_ours(const char *pid) {
    static char block[1 << 17];
    char path[300], machine[1200];
    const char *own = getenv("STUB_MACHINE");
    snprintf(path, sizeof path, "/proc/%s/environ", pid);
    snprintf(machine, sizeof machine, "STUB_MACHINE=%s", own ? own : "");
    int file = open(path, O_RDONLY);
    if (file < 0) return 0;
    ssize_t got = read(file, block, sizeof block - 1);
    close(file);
    if (got <= 0) return 0;
    block[got] = 0;
    return holds(block, got, "GPU_PILOT_TOLD=") && holds(block, got, machine);
}

static unsigned int ours(process_t *list, unsigned int most) {
    unsigned int found = 0;
    DIR *folder = getenv("STUB_IDLE") ? NULL : opendir("/proc");
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && is_ours(entry->d_name)) {
            if (list && found < most) {
                process_t one = {atoi(entry->d_name), number("STUB_OWN_MIB", 1024) << 20, ~0u, ~0u};
                list[found] = one;
            }
            found++;
        }
    if (folder) closedir(folder);
    return found;
}

int nvmlInitWithFlags(unsigned int flags) { (void)flags; return count() ? SUCCESS : DRIVER_NOT_LOADED; }
int nvmlShutdown(void) { return SUCCESS; }
int nvmlDeviceGetCount_v2(unsigned int *found) { *found = count(); return SUCCESS; }

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **handle) {
    *handle = (void *)(size_t)(index + 1);
    return SUCCESS;
}

int nvmlDeviceGetName(void *handle, char *name, unsigned int length) {
    const char *at = getenv("STUB_CARDS");
    for (size_t n = (size_t)handle - 1; n && (at = strchr(at, ',')); n--) at++;
    snprintf(name, length, "%.*s", (int)strcspn(at ? at : "", ","), at ? at : "");
    return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(void *handle, memory_t *memory) {
    unsigned int own = (size_t)handle == 1 ? ours(NULL, 0) : 0; /* the first card is the one that is used */
    memory->total = 141000000000ULL;
    memory->used = (number("STUB_BEFORE_MIB", 400) + own * number("STUB_OWN_MIB", 1024)) << 20;
    memory->free = memory->total - memory->used;
    return SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned int *size, process_t *list) {
    unsigned int most = *size;
    *size = (size_t)handle == 1 ? ours(list, most) : 0;
    return *size > most ? INSUFFICIENT_SIZE : SUCCESS;
}

int nvmlDeviceGetUtilizationRates(void *handle, rates_t *rates) {
    (void)handle;
    rates->gpu = rates->memory = 0;
    return SUCCESS;
}

int nvmlDeviceGetMigMode(void *handle, unsigned int *now, unsigned int *next) {
    (void)handle; (void)now; (void)next;
    return NOT_SUPPORTED;
}
