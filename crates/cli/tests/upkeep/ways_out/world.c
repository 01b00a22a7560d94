/* A small world for one process: names under .test mean what a file says, 9.9.9.9 is a port of this machine, and
 * nobody else can be reached. Every lookup and every connection is written down before it is made.
 *
 * WORLD       a file with lines of a name, what it is at first, and what it is from then on
 * WORLD_LOG   where lookups and connections are written to
 * WORLD_PORT  the port of this machine that is 9.9.9.9, whatever port is asked for
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NAMES 512

struct name {
    char is[128], first[64], then[64];
    int seen;
};

static struct name names[NAMES];
static int known = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void note(const char *what, const char *host, int port) {
    char line[256];
    int length = snprintf(line, sizeof line, "%s %s %d\n", what, host, port);
    int file = open(getenv("WORLD_LOG"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || write(file, line, length) != length) abort();
    close(file);
}

static void load(void) {
    FILE *file = fopen(getenv("WORLD"), "re");
    if (!file) abort();
    known = 0;
    while (known < NAMES && fscanf(file, "%127s %63s %63s", names[known].is, names[known].first, names[known].then) == 3)
        known++;
    fclose(file);
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
        dlsym(RTLD_NEXT, "getaddrinfo");
    char name[128] = "", address[64] = "";
    if (node && strlen(node) < sizeof name) strcpy(name, node);
    size_t length = strlen(name);
    if (length && name[length - 1] == '.') name[--length] = 0;
    if (length < 5 || strcasecmp(name + length - 5, ".test")) {
        if (node && getenv("WORLD_LOG")) note("lookup", node, 0);
        return real(node, service, hints, found);
    }
    pthread_mutex_lock(&lock);
    if (known < 0) load();
    for (int n = 0; n < known; n++)
        if (!strcasecmp(names[n].is, name)) strcpy(address, names[n].seen++ ? names[n].then : names[n].first);
    pthread_mutex_unlock(&lock);
    note("lookup", name, 0);
    if (!*address) return EAI_NONAME;
    return real(address, service, hints, found);
}

int connect(int file, const struct sockaddr *to, socklen_t size) {
    int (*real)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "connect");
    char host[64] = "";
    if (!getenv("WORLD_LOG")) return real(file, to, size);
    if (to->sa_family == AF_INET) {
        struct sockaddr_in there = *(const struct sockaddr_in *)to;
        inet_ntop(AF_INET, &there.sin_addr, host, sizeof host);
        note("connect", host, ntohs(there.sin_port));
        if (!strcmp(host, "9.9.9.9")) {
            there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            there.sin_port = htons(atoi(getenv("WORLD_PORT")));
            return real(file, (struct sockaddr *)&there, sizeof there);
        }
        if (ntohl(there.sin_addr.s_addr) >> 24 == 127) return real(file, to, size);
    } else if (to->sa_family == AF_INET6) {
        const struct sockaddr_in6 *there = (const struct sockaddr_in6 *)to;
        inet_ntop(AF_INET6, &there->sin6_addr, host, sizeof host);
        note("connect", host, ntohs(there->sin6_port));
    } else {
        return real(file, to, size);
    }
    errno = ENETUNREACH;
    return -1;
}
