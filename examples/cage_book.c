/* A cage's book in C, with paho's client and SQLite: each settlement once, and none missed.
 *
 *   cc -O2 -o cage_book cage_book.c -lpaho-mqtt3cs -lsqlite3
 *   ./cage_book BOOK HOST PORT bac/v1/SITE/TABLE
 *
 * The book is that of cage_book.py, which shows it too. SQLite reads the JSON, so amounts are
 * integers all the way. Safe to kill at any moment and to start again. At a site's broker the
 * environment names the login and the files that `baccarat site add` hands over: BUS_LOGIN,
 * BUS_PASSWORD_FILE, BUS_CA, BUS_CERT and BUS_KEY. BUS_USER is the user of the topics, `cage` if
 * there is none. It has no message key: message_key.c shows what that takes.
 */
#include <MQTTClient.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *root, *user = "cage";
static char answers[256], replayed[256]; /* response/USER and response/USER/events */
static sqlite3 *book;
static MQTTClient client;
static long long newest, asked_from;
static time_t asked_at;

static void fail(const char *why) {
    fprintf(stderr, "cage_book: %s\n", why);
    exit(1);
}

/* Run one statement with the message as its parameter ?1; the first column of its first row. */
static long long ask(const char *sql, const char *said, size_t length, long long otherwise) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(book, sql, -1, &statement, NULL) != SQLITE_OK)
        fail(sqlite3_errmsg(book));
    if (said)
        sqlite3_bind_text(statement, 1, said, (int)length, SQLITE_STATIC);
    int code = sqlite3_step(statement);
    long long found = otherwise;
    if (code == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL)
        found = sqlite3_column_int64(statement, 0);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        fail(sqlite3_errmsg(book));
    sqlite3_finalize(statement);
    return found;
}

static void run(const char *sql) {
    if (sqlite3_exec(book, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail(sqlite3_errmsg(book));
}

/* Ask the table; the answer comes on response/USER. */
static void request(const char *command, const char *fields, long long position) {
    static long number;
    char topic[512], body[512];
    snprintf(topic, sizeof topic, "%s/request/%s/%s", root, user, command);
    snprintf(body, sizeof body, "{\"transaction\":\"c-%ld-%ld-%ld\",%s%lld}", (long)time(NULL),
             (long)getpid(), ++number, fields, position);
    MQTTClient_publish(client, topic, (int)strlen(body), body, 1, 0, NULL);
}

/* One transaction: the settlement, if it is one and new, and how far we have come. */
static int keep(const char *said, size_t length) {
    int settled = (int)ask("SELECT json_extract(?1, '$.type') = 'coup_settled'", said, length, 0);
    if (settled && ask("SELECT json_extract(?1, '$.v')", said, length, 0) != 1)
        fail("this version of coup_settled is not known to this book");
    run("BEGIN IMMEDIATE");
    if (settled) {
        ask("INSERT OR IGNORE INTO settlement SELECT"
            " json_extract(?1, '$.data.settlement.settlement_id'),"
            " json_extract(?1, '$.data.settlement.reverses')",
            said, length, 0);
        if (sqlite3_changes(book)) /* a revision takes the place of what it reverses: see `seats` */
            ask("INSERT INTO line SELECT json_extract(?1, '$.data.settlement.settlement_id'),"
                " value ->> 'seat',"
                " CASE WHEN value ->> 'kind' = 'promo' THEN 0 ELSE value ->> 'stake' END,"
                " value ->> 'paid', value ->> 'commission'"
                " FROM json_each(?1, '$.data.settlement.lines')",
                said, length, 0);
    }
    ask("UPDATE reader SET position = json_extract(?1, '$.position')", said, length, 0);
    run("COMMIT");
    return settled;
}

/* Take the event whose turn it is; drop what came before, ask for what is missing. */
static void received(const char *topic, const char *said, size_t length) {
    const char *below = topic + strlen(root) + 1;
    if (!strcmp(below, answers)) {
        if (ask("SELECT json_extract(?1, '$.result') = 'refused'", said, length, 0))
            fail("the table refused a request");
        return;
    }
    /* The table's heartbeat has no position: it wakes us where an answer was lost. */
    long long position = ask("SELECT json_extract(?1, '$.position')", said, length, newest);
    long long here = ask("SELECT position FROM reader", NULL, 0, 0);
    int event = !strcmp(below, "event") || !strcmp(below, replayed);
    if (position > newest)
        newest = position;
    if (position <= here)
        return;
    if (event && position == here + 1) {
        if (keep(said, length)) /* acknowledged only now, because only now it is ours */
            request("ack", "\"consumer\":\"cage\",\"position\":", position);
    } else if (asked_from != here + 1 || time(NULL) - asked_at > 2) {
        asked_from = here + 1;
        asked_at = time(NULL);
        request("replay", "\"from\":", asked_from);
    }
}

/* Every time. The retained state says how far the log has come, and we ask for what we lack. */
static void connect_again(MQTTClient_connectOptions options) {
    const char *below[] = {"event", replayed, answers, "state", "status/table"};
    while (MQTTClient_connect(client, &options) != MQTTCLIENT_SUCCESS)
        sleep(1);
    for (size_t each = 0; each < sizeof below / sizeof *below; each++) {
        char topic[512];
        snprintf(topic, sizeof topic, "%s/%s", root, below[each]);
        MQTTClient_subscribe(client, topic, 1);
    }
}

/* What a site's broker asks for, from the environment. */
static MQTTClient_connectOptions login(MQTTClient_SSLOptions *tls) {
    static char password[256];
    MQTTClient_connectOptions options = MQTTClient_connectOptions_initializer;
    options.cleansession = 1;
    if (getenv("BUS_LOGIN")) {
        const char *path = getenv("BUS_PASSWORD_FILE");
        FILE *file = path ? fopen(path, "r") : NULL;
        if (!file || !fgets(password, sizeof password, file))
            fail("no password in BUS_PASSWORD_FILE");
        fclose(file);
        password[strcspn(password, "\r\n")] = '\0';
        options.username = getenv("BUS_LOGIN");
        options.password = password;
    }
    if (getenv("BUS_CA")) {
        tls->trustStore = getenv("BUS_CA");
        tls->keyStore = getenv("BUS_CERT");
        tls->privateKey = getenv("BUS_KEY");
        tls->enableServerCertAuth = 1;
        tls->verify = 1; /* the name in the certificate as well */
        options.ssl = tls;
    }
    return options;
}

int main(int count, char **words) {
    if (count != 5)
        fail("usage: cage_book BOOK HOST PORT bac/v1/SITE/TABLE");
    if (sqlite3_open(words[1], &book) != SQLITE_OK)
        fail(sqlite3_errmsg(book));
    sqlite3_busy_timeout(book, 5000);
    run("CREATE TABLE IF NOT EXISTS settlement (id TEXT PRIMARY KEY, reverses TEXT);"
        "CREATE TABLE IF NOT EXISTS line (id TEXT, seat INT, staked INT, paid INT, commission INT);"
        "CREATE TABLE IF NOT EXISTS reader (one INTEGER PRIMARY KEY, position INT);"
        "INSERT OR IGNORE INTO reader VALUES (1, 0);"
        "CREATE VIEW IF NOT EXISTS seats AS SELECT seat, sum(staked), sum(paid), sum(commission)"
        " FROM line WHERE id NOT IN"
        " (SELECT reverses FROM settlement WHERE reverses NOT NULL) GROUP BY seat;");
    root = words[4];
    if (getenv("BUS_USER"))
        user = getenv("BUS_USER");
    snprintf(answers, sizeof answers, "response/%s", user);
    snprintf(replayed, sizeof replayed, "response/%s/events", user);
    char address[256];
    snprintf(address, sizeof address, "%s://%s:%s", getenv("BUS_CA") ? "ssl" : "tcp", words[2], words[3]);
    /* A broker hangs up on whoever has a client id when another comes with it: nobody may guess it. */
    char id[64];
    unsigned long long random[2] = {0, 0};
    FILE *source = fopen("/dev/urandom", "rb");
    if (!source || fread(random, sizeof random, 1, source) != 1)
        fail("no random numbers");
    fclose(source);
    snprintf(id, sizeof id, "cage-%016llx%016llx", random[0], random[1]);
    MQTTClient_create(&client, address, id, MQTTCLIENT_PERSISTENCE_NONE, NULL);
    MQTTClient_SSLOptions tls = MQTTClient_SSLOptions_initializer;
    MQTTClient_connectOptions options = login(&tls);
    connect_again(options);
    for (;;) {
        char *topic = NULL;
        int length = 0;
        MQTTClient_message *message = NULL;
        int code = MQTTClient_receive(client, &topic, &length, &message, 1000);
        if (message) {
            if (message->payloadlen) /* else somebody has cleared a retained topic */
                received(topic, message->payload, (size_t)message->payloadlen);
            MQTTClient_freeMessage(&message);
            MQTTClient_free(topic);
        } else if (code != MQTTCLIENT_SUCCESS || !MQTTClient_isConnected(client)) {
            connect_again(options);
        }
    }
}
