/* NVIDIA's management library as far as its first call: STUB_NVML is what nvmlInit gives (0), or "hang". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int nvmlInit_v2(void) {
    const char *given = getenv("STUB_NVML");
    if (given && !strcmp(given, "hang")) for (;;) pause();
    return given ? atoi(given) : 0;
}

const char *nvmlErrorString(int code) {
    return code == 18 ? "Driver/library version mismatch" : code == 9 ? "Driver Not Loaded" : "Unknown Error";
}

int nvmlDeviceGetCount_v2(unsigned int *count) { *count = 2; return 0; }

int nvmlSystemGetDriverVersion(char *version, unsigned int length) {
    snprintf(version, length, "570.86.15");
    return 0;
}
