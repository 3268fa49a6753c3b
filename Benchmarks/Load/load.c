// The load generator: replays requests that were made beforehand, over keep-alive connections, and
// checks every answer.
//
//   load PORT CONNECTIONS REQUESTS [TEXT COUNT]
//
// REQUESTS is a file of requests, each four bytes of its length (little-endian) and then the bytes
// to send. Each connection takes the next one as soon as it has its answer. An answer counts as
// refused when its status is not 200 or its body has the name of an error; as unexpected when TEXT
// is not in it exactly COUNT times. Prints one line of JSON; the first bad answer goes to the
// standard error.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    int socket;
    const char *request;          // what is being sent
    size_t request_left;
    char *answer;
    size_t answer_size, answer_room;
    size_t head_size, body_size;  // 0 until the head is complete
    int is_chunked;
    double sent_at;
} Connection;

static char *requests;
static size_t requests_size, next_request;
static const char *expected_text;
static long expected_count;
static double *latencies;
static long answers, refused, unexpected;
static unsigned long long received_bytes;
static int poll_queue;

static void fail(const char *what) {
    fprintf(stderr, "load: %s: %s\n", what, errno ? strerror(errno) : "unexpected");
    exit(1);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

static double processor_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_utime.tv_usec / 1e6 + usage.ru_stime.tv_sec
        + usage.ru_stime.tv_usec / 1e6;
}

// The length of the request at an offset; 0 at the end.
static size_t length_at(size_t offset) {
    uint32_t length;
    if (offset + sizeof length > requests_size) return 0;
    memcpy(&length, requests + offset, sizeof length);
    return length;
}

static long read_requests(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) fail(path);
    requests_size = ftell(file);
    rewind(file);
    requests = malloc(requests_size + 1);
    if (!requests || fread(requests, 1, requests_size, file) != requests_size) fail(path);
    fclose(file);
    long count = 0;
    for (size_t at = 0, length; (length = length_at(at)); at += 4 + length) count++;
    return count;
}

static void watch(Connection *connection, int events, int operation) {
    struct epoll_event event = {.events = events, .data.ptr = connection};
    if (epoll_ctl(poll_queue, operation, connection->socket, &event)) fail("epoll_ctl");
}

static void send_more(Connection *connection) {
    while (connection->request_left) {
        ssize_t sent = send(connection->socket, connection->request, connection->request_left,
                            MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN)
            return watch(connection, EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD);
        if (sent < 0) fail("send");
        connection->request += sent;
        connection->request_left -= sent;
        if (!connection->request_left) watch(connection, EPOLLIN, EPOLL_CTL_MOD);
    }
}

// Sends the next request, if there is one.
static void begin(Connection *connection) {
    size_t length = length_at(next_request);
    connection->answer_size = connection->head_size = connection->body_size = 0;
    if (!length) return;
    connection->request = requests + next_request + 4;
    connection->request_left = length;
    next_request += 4 + length;
    connection->sent_at = seconds();
    send_more(connection);
}

static long count_of(const char *text, const char *bytes, size_t size) {
    long count = 0;
    size_t length = strlen(text);
    const char *end = bytes + size;
    while ((bytes = memmem(bytes, end - bytes, text, length))) {
        count++;
        bytes += length;
    }
    return count;
}

static void check(Connection *connection) {
    const char *body = connection->answer + connection->head_size;
    size_t size = connection->answer_size - connection->head_size;
    int is_refused = connection->answer_size < 12 || memcmp(connection->answer + 9, "200", 3)
        || memmem(body, size, "\"serverErrorCode\"", 17) || memmem(body, size, "\"error\"", 7);
    int is_unexpected = expected_text && count_of(expected_text, body, size) != expected_count;
    if ((is_refused || is_unexpected) && !refused && !unexpected) {
        size_t shown = connection->answer_size < 1000 ? connection->answer_size : 1000;
        fwrite(connection->answer, 1, shown, stderr);
    }
    refused += is_refused;
    unexpected += is_unexpected;
    latencies[answers++] = seconds() - connection->sent_at;
    received_bytes += connection->answer_size;
}

// Finds out where the answer ends, once its head is there.
static void read_head(Connection *connection) {
    char *end = memmem(connection->answer, connection->answer_size, "\r\n\r\n", 4);
    if (!end) return;
    connection->head_size = end + 4 - connection->answer;
    *end = 0; // put back below
    char *length = strcasestr(connection->answer, "\r\ncontent-length:");
    connection->is_chunked =
        strcasestr(connection->answer, "\r\ntransfer-encoding: chunked") != NULL;
    if (!length && !connection->is_chunked) fail("an answer without a length");
    connection->body_size = length ? strtoul(length + 17, NULL, 10) : 0;
    *end = '\r';
}

static int is_complete(Connection *connection) {
    if (!connection->head_size) read_head(connection);
    if (!connection->head_size) return 0;
    if (!connection->is_chunked)
        return connection->answer_size == connection->head_size + connection->body_size;
    return connection->answer_size >= connection->head_size + 5
        && !memcmp(connection->answer + connection->answer_size - 5, "0\r\n\r\n", 5);
}

static void receive(Connection *connection) {
    if (connection->answer_room - connection->answer_size < 65536) {
        connection->answer_room = 2 * connection->answer_room + 131072;
        connection->answer = realloc(connection->answer, connection->answer_room);
        if (!connection->answer) fail("realloc");
    }
    ssize_t size = recv(connection->socket, connection->answer + connection->answer_size,
                        connection->answer_room - connection->answer_size - 1, MSG_DONTWAIT);
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) fail("the service closed a connection");
    connection->answer_size += size;
    connection->answer[connection->answer_size] = 0;
    if (!is_complete(connection)) return;
    check(connection);
    begin(connection);
}

static void open_connection(Connection *connection, int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connection->socket = socket(AF_INET, SOCK_STREAM, 0);
    int on = 1;
    setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(connection->socket, (struct sockaddr *)&address, sizeof address)) fail("connect");
    watch(connection, EPOLLIN, EPOLL_CTL_ADD);
}

static int by_size(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

int main(int count, char **arguments) {
    if (count != 4 && count != 6) {
        fprintf(stderr, "usage: load PORT CONNECTIONS REQUESTS [TEXT COUNT]\n");
        return 2;
    }
    int port = atoi(arguments[1]), connection_count = atoi(arguments[2]);
    long request_count = read_requests(arguments[3]);
    if (count == 6) expected_text = arguments[4], expected_count = atol(arguments[5]);
    if (connection_count < 1 || !request_count) fail("nothing to do");
    latencies = calloc(request_count, sizeof *latencies);
    Connection *connections = calloc(connection_count, sizeof *connections);
    poll_queue = epoll_create1(0);
    for (int i = 0; i < connection_count; i++) open_connection(&connections[i], port);

    double start = seconds(), processor = processor_seconds();
    for (int i = 0; i < connection_count; i++) begin(&connections[i]);
    struct epoll_event events[256];
    while (answers < request_count) {
        int ready = epoll_wait(poll_queue, events, 256, 60000);
        if (ready == 0) fail("no answer in 60 s");
        if (ready < 0 && errno != EINTR) fail("epoll_wait");
        for (int i = 0; i < ready; i++) {
            if (events[i].events & EPOLLOUT) send_more(events[i].data.ptr);
            if (events[i].events & ~EPOLLOUT) receive(events[i].data.ptr);
        }
    }
    double elapsed = seconds() - start;
    processor = processor_seconds() - processor;

    qsort(latencies, answers, sizeof *latencies, by_size);
    printf("{\"answers\": %ld, \"refused\": %ld, \"unexpected\": %ld, \"seconds\": %.6f, "
           "\"processor_seconds\": %.6f, \"received_bytes\": %llu, \"p50_ms\": %.4f, "
           "\"p99_ms\": %.4f, \"greatest_ms\": %.4f}\n",
           answers, refused, unexpected, elapsed, processor, received_bytes,
           1e3 * latencies[answers / 2], 1e3 * latencies[answers * 99 / 100],
           1e3 * latencies[answers - 1]);
    return 0;
}
