CREATE TABLE IF NOT EXISTS alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

CREATE TABLE book (
    id INTEGER NOT NULL,
    stream TEXT NOT NULL,
    position BIGINT NOT NULL,
    hash TEXT NOT NULL,
    state TEXT NOT NULL,
    CONSTRAINT pk_book PRIMARY KEY (id),
    CONSTRAINT uq_book_stream UNIQUE (stream)
);

CREATE TABLE entry (
    book INTEGER NOT NULL,
    position BIGINT NOT NULL,
    part SMALLINT NOT NULL,
    ref TEXT NOT NULL,
    kind TEXT NOT NULL,
    day TEXT NOT NULL,
    at TEXT NOT NULL,
    shoe TEXT NOT NULL,
    coup TEXT NOT NULL,
    phase SMALLINT NOT NULL,
    rulebook TEXT NOT NULL,
    reverses TEXT NOT NULL, detail TEXT DEFAULT '' NOT NULL,
    CONSTRAINT pk_entry PRIMARY KEY (book, position, part),
    CONSTRAINT uq_entry_book_ref UNIQUE (book, ref),
    CONSTRAINT fk_entry_book FOREIGN KEY(book) REFERENCES book (id)
);

CREATE INDEX ix_entry_book_shoe ON entry (book, shoe);

CREATE TABLE posting (
    book INTEGER NOT NULL,
    position BIGINT NOT NULL,
    part SMALLINT NOT NULL,
    line SMALLINT NOT NULL,
    account TEXT NOT NULL,
    seat SMALLINT NOT NULL,
    bet TEXT NOT NULL,
    result TEXT NOT NULL,
    amount BIGINT NOT NULL, patron TEXT DEFAULT '' NOT NULL,
    CONSTRAINT pk_posting PRIMARY KEY (book, position, part, line)
);

CREATE TRIGGER entry_UPDATE BEFORE UPDATE ON entry
BEGIN SELECT raise(ABORT, 'the ledger is never edited: book a reversal'); END;

CREATE TRIGGER entry_DELETE BEFORE DELETE ON entry
BEGIN SELECT raise(ABORT, 'the ledger is never edited: book a reversal'); END;

CREATE TRIGGER posting_UPDATE BEFORE UPDATE ON posting
BEGIN SELECT raise(ABORT, 'the ledger is never edited: book a reversal'); END;

CREATE TRIGGER posting_DELETE BEFORE DELETE ON posting
BEGIN SELECT raise(ABORT, 'the ledger is never edited: book a reversal'); END;

INSERT INTO alembic_version VALUES ('0002');
