/* Prove a request to the table, and check what the table answers, with OpenSSL's library.
 *
 *   cc -O2 -o message_key message_key.c -lcrypto
 *   ./message_key prove KEYFILE TOPIC < BODY       prints the message to publish on TOPIC
 *   ./message_key check KEYFILE TOPIC < MESSAGE    prints the body; code 1 if it is not proved
 */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 8 << 20, SECRET = 32 };

static unsigned char said[MOST + 1], text[MOST + 1024];

/* The secret of an id, or of the first line where there is none: MESSAGEKEY name id secret until. */
static int key_of(const char *path, char id[9], unsigned char secret[SECRET]) {
    char line[512], name[9], hex[2 * SECRET + 1];
    FILE *file = fopen(path, "r");
    int found = 0;
    while (file && !found && fgets(line, sizeof line, file)) {
        if (sscanf(line, "MESSAGEKEY %*s %8s %64s", name, hex) != 2)
            continue;
        if (*id && strcmp(id, name) != 0)
            continue;
        strcpy(id, name);
        for (int at = 0; at < SECRET; at++) {
            unsigned byte = 0;
            sscanf(hex + 2 * at, "%2x", &byte);
            secret[at] = (unsigned char)byte;
        }
        found = 1;
    }
    if (file)
        fclose(file);
    return found;
}

/* The code of a body on a topic at a time, in hex. */
static void code_of(const unsigned char secret[SECRET], const char *topic, long long at,
                    size_t length, char hex[65]) {
    unsigned char digest[SECRET];
    int head = snprintf((char *)text, 1024, "v1\n%s\n%lld\n", topic, at);
    memcpy(text + head, said, length);
    HMAC(EVP_sha256(), secret, SECRET, text, (size_t)head + length, digest, NULL);
    for (int byte = 0; byte < SECRET; byte++)
        sprintf(hex + 2 * byte, "%02x", digest[byte]);
}

int main(int count, char **given) {
    if (count != 4)
        return 2;
    char id[9] = "", hex[65], theirs[65], end[3];
    unsigned char secret[SECRET];
    size_t length = fread(said, 1, MOST, stdin);
    if (strcmp(given[1], "prove") == 0) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        long long at = now.tv_sec * 1000LL + now.tv_nsec / 1000000;
        if (!length || !key_of(given[2], id, secret))
            return 1;
        code_of(secret, given[3], at, length, hex);
        fwrite(said, 1, length - 1, stdout);
        printf(",\"mac\":\"v1.%s.%lld.%s\"}", id, at, hex);
        return 0;
    }
    /* The field is the last one, so its last occurrence counts. */
    unsigned char *field = NULL;
    for (size_t at = 0; at + 8 < length; at++)
        if (memcmp(said + at, ",\"mac\":\"", 8) == 0)
            field = said + at;
    long long at = 0;
    int used = 0;
    if (!field || sscanf((char *)field, ",\"mac\":\"v1.%8[0-9a-f].%lld.%64[0-9a-f]%2[\"}]%n", id, &at,
                         theirs, end, &used) != 4 ||
        field + used != said + length || strcmp(end, "\"}") != 0 || strlen(theirs) != 64)
        return 1;
    *field = '}';
    length = (size_t)(field - said) + 1;
    if (!key_of(given[2], id, secret))
        return 1;
    code_of(secret, given[3], at, length, hex);
    if (CRYPTO_memcmp(hex, theirs, 64) != 0)
        return 1;
    fwrite(said, 1, length, stdout);
    return 0;
}
