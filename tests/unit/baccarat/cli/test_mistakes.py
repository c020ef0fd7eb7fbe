"""What a person gets who mistypes a command: one line that names the mistake and what is right."""

import re
import shlex
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import structlog
from click.shell_completion import ShellComplete, get_completion_class

from baccarat.cli.main import cli, main
from baccarat.site.pki import Pki

# A command -> what its one line must say; LOG is a log, TEXT a text and NONE no file.
MISTAKES = """
demoo -> Did you mean 'demo'?
setle -> Did you mean one of: 'settle', 'site'?
logs -> Did you mean 'log'?
verify LOG -> `baccarat log verify`
log verfy LOG -> Did you mean 'verify'?
log verify -> Missing argument 'LOG'. `baccarat log verify -h`
log verify NONE -> no such file; name a table's log
log verify TEXT -> no SQLite file; name a table's log
log verify LOG extra -> unexpected extra argument (extra). `baccarat log verify -h`
log verify LOG --jsn -> Did you mean one of: '--jobs', '--json'?
log show LOG --from 0 -> '--from': 0 is not in the range x>=1
log show LOG --from x -> '--from': 'x' is not a whole number
log show LOG --from 9 --to 3 -> no position lies between them
log show LOG --type no_such -> there are aggregate_capped
log stats -> Missing argument 'LOG'
log backup LOG -> Missing argument 'FILE'
log restore TEXT new.sqlite -> no SQLite file
replay -> Missing argument 'LOG'
replay NONE -> no such file
replay LOG --coup 99 -> no such coup in this log; there are 13: 20261127-01/1
replay LOG --at yesterday -> such as 2026-11-27T21:40:07Z
replay LOG --at 99999 -> the log ends at position 280
replay LOG --html page.html -> name it with --coup ID
replay LOG --what-if 5 -> POSITION=FACE, such as 21=9D
evidence LOG -> Missing option '--coup'
evidence verify -> Missing argument 'FILE'
evidence verify TEXT --key TEXT -> no key; one is written name+id+key
settle -> write --rulebook R --cards
settle --rulebook -> '--rulebook' requires an argument
settle --rulbook ez -> Did you mean '--rulebook'?
settle --rulebook nope --cards 9H,2D,8S,KC -> known are au-commission
settle --rulebook ez --cards 9X,2D -> rank then suit, such as 9D
settle --rulebook ez --cards 9H,KD,8S,KC --wager player -> such as banker=2500
settle --rulebook ez --cards 9H,2D -> another card is due
settle --rulebook TEXT --cards 9H -> the name of a rulebook's file ends in .toml; rename it
odds --rulebook ./ez -> no rulebook './ez' is shipped; known are
rulebook show FOLDER -> the name of a rulebook's file ends in .toml; rename it
demo --rulebook TEXT -> the name of a rulebook's file ends in .toml; rename it
odds -> Missing option '--rulebook'
odds --rulebook ez --decks 5 -> is not one of '4', '6', '8'
odds --rulebook ez --composition NONE -> cannot be read
roads -> Missing argument 'RESULTS'
roads BPX -> write P for Player, B for Banker, T for a tie
rulebook chck TEXT -> Did you mean 'check'?
rulebook check NONE -> cannot be read
rulebook check TEXT -> not a TOML file
rulebook show nope -> known are au-commission
config check -> Missing argument 'FILE'
config check NONE -> give the table's TOML file
config check TEXT -> no TOML
config init TEXT -> is there already; choose another name
run -> Missing argument 'CONFIG...'
run NONE -> give the table's TOML file
run TEXT --only tabel -> is not one of 'cage', 'displays'
doctor -> Missing argument 'CONFIG'
doctor NONE -> give the table's TOML file
cage run -> name the table's CONFIG, or its broker by --url
cage run --url localhost -> write mqtt
cage run --url mqtt://a@localhost:1/s/t --ledger no/cage.sqlite -> make it, and give it to the user
run CREDENTIAL --only cage -> `baccarat site apply` puts it; without systemd, name the file
cage blance -> Did you mean 'balance'?
cage balance --ledger NONE -> `baccarat cage run` makes one
cage balance --ledger FOLDER -> is no file; name a ledger that `baccarat cage run` has made
cage balance --ledger TEXT -> is not a database; name a ledger that `baccarat cage run` has made
cage reconcile -> Missing argument 'LOG'
shoe decode NONE -> give a capture, a journal, or -
shoe decode NONE --profile nope -> there are enq-bcc
shoe monitor /dev/null -> Missing option '--profile'
keys new -> Missing argument 'FILE'
keys new TEXT -> a key is never overwritten
keys new 'a b' -> 1 to 200 characters that can be seen, no spaces, no plus signs
pki renew nowhere -> make one with `baccarat pki init`
pki issue nowhere b7 -> make one with `baccarat pki init`
pki init x --site harbour --days 0 -> 0 is not in the range
pki init x --site LONG -> at most 64 bytes of UTF-8; make it shorter by 13
pki init x --site ACCENTS -> at most 64 bytes of UTF-8; make it shorter by 1
pki issue PKI LONG -> at most 64 bytes of UTF-8; make it shorter by 6
user add passwords anna --role dealr -> is not one of 'dealer'
site add NONE 'B 1' --role cage -> user 'B 1': use lower-case letters, digits, - and _
user list NONE -> make it with `baccarat user add
sim world --seeds x -> write A..B, such as 1..100
sim world --seeds 1 --faults nope -> no fault 'nope'; there are
sim cage-feed --bus '[::1' -> --bus '[::1': write HOST:PORT, such as 127.0.0.1:1883
sim cage-feed --bus '[x]:1883' -> --bus '[x]:1883': write HOST:PORT
sim cage-feed --bus '[x::y]:1883' -> --bus '[x::y]:1883': 'x::y' does not appear
sim cage-feed --bus a@b:1883 -> --bus 'a@b:1883': write HOST:PORT
sim cage-feed --bus b:1883 --cert TEXT -> name the file of the site's CA, --ca ca.pem
sim cage-feed --bus b:1883 --wait nan -> '--wait': it is no number
sim cage-feed --bus b:1883 --patience inf -> '--patience': it is no number
sim wagers-feed --bus b:1883 --wait -1 --placed x -> -1.0 is not in the range x>=0
sim display-feed --bus b:1883 --patience nan --shown x -> '--patience': it is no number
sim cage-fed -> Did you mean one of: 'cage-feed', 'wagers-feed'?
schema jsn -> Did you mean 'json'?
property query TEXT nope -> is not one of 'tables'
demo --rulebook nope -> known are au-commission
demo --profile nope -> no wire profile 'nope'; there are enq-bcc
demo --port 9000 --mqtt-port 9000 -> --mqtt-port: 9000 is --port already
demo --speed fast -> 'fast' is not a number
-v -> `baccarat -h` lists
demo\udcff -> argument 'demo\\xff' is not UTF-8
keys new k\udcff -> argument 'k\\xff' is not UTF-8
pki init x --site \udcc3\udca9\udcff -> argument 'é\\xff' is not UTF-8
config check \udcff --json -> argument '\\xff' is not UTF-8
cage statement --coup \udcff -> argument '\\xff' is not UTF-8
practice --rulebook \udcff -> argument '\\xff' is not UTF-8
practice --rulebook nope -> known are au-commission
practice --profile nope -> no wire profile 'nope'; there are enq-bcc
--verison -> Did you mean '--version'?
"""


def _cases() -> list[tuple[str, str]]:
    rows = [row.partition(" -> ") for row in MISTAKES.strip().splitlines()]
    return [(given, said) for given, _, said in rows]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("mistakes")
    shutil.copy("tests/corpus/0.1.0/table.sqlite", folder / "table.sqlite")
    (folder / "text").write_text("hello", "utf-8")
    config = 'site = "s"\ntable = "t"\nrulebook = "ez"\n[shoe]\nurl = "pty:/x"\n[cage]\n'
    login = 'username = "t-cage"\npassword_file = "credential:broker"\n'
    (folder / "t.toml").write_text(config + login, "utf-8")
    Pki(folder / "pki", datetime.now(UTC)).begin("a" * 57)
    names = {
        "LOG": "table.sqlite",
        "PKI": "pki",
        "FOLDER": "pki",
        "TEXT": "text",
        "NONE": "none",
        "CREDENTIAL": "t.toml",
    }
    paths = {word: str(folder / name) for word, name in names.items()}
    return paths | {"LONG": "a" * 70, "ACCENTS": "é" * 29}


@pytest.fixture(autouse=True)
def _logging() -> Iterator[None]:
    """Undo what a command has set for its own process."""
    yield
    structlog.reset_defaults()


@pytest.mark.parametrize(("given", "said"), _cases())
def test_a_mistake_gets_one_right_line(
    given: str,
    said: str,
    files: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([files.get(word, word) for word in shlex.split(given)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert re.fullmatch(r"baccarat: [^\n]+\n", shown.err)
    assert said in shown.err
    assert list(tmp_path.iterdir()) == []


# What takes a name, and the option or argument that a mistake in it is said of.
NAMED = """
log show LOG --coup NAME
replay LOG --coup NAME
evidence LOG --coup NAME -o e
cage balance --table NAME
cage statement --shoe NAME
cage export --coup NAME
cage report --bet NAME
keys new key --name NAME
keys messages NONE NAME
log adopt NONE --by NAME --reason x
log adopt NONE --by x --reason NAME
pki init folder --site NAME
pki issue PKI NAME
pki renew PKI NAME
property reader NONE NAME
property release NONE s/t --by NAME
property retire NONE s/t --password-file NONE --by NAME
property settle NONE s/t --by NAME
sim cage-feed --bus b:1883 --login NAME
sim display-feed --bus b:1883 --shown x --user NAME
site add NONE NAME --role cage
site password NONE NAME
site renew NONE NAME
user add users NAME --role dealer
user break-glass users NAME --reason x
user remove NONE NAME
"""
WRONG_NAMES = {
    "": "it is empty",
    "  ": "it is empty",
    "a" * 501: "it has 501 characters; use ",
    "a\nb": "it holds U+000A; use one line of text",
    "a\x1b[2J": "it holds U+001B; use one line of text",
    "a\u202eb": "it holds U+202E; use one line of text",
    "e\u0301": "it is not in Unicode's normal form C",
}


@pytest.mark.parametrize("given", NAMED.strip().splitlines())
def test_what_is_no_name_gets_one_line_wherever_a_name_is_asked_for(
    given: str,
    files: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, said in WRONG_NAMES.items():
        words = [name if word == "NAME" else files.get(word, word) for word in given.split()]
        assert main(words) == 2
        shown = capsys.readouterr()
        assert shown.out == ""
        assert re.fullmatch(r"baccarat: Invalid value for '[^\n]+\n", shown.err)
        assert said in shown.err
        assert list(tmp_path.iterdir()) == []


def test_a_name_has_at_most_as_many_characters_as_a_keys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = str(tmp_path / "key")
    assert main(["keys", "new", key, "--name", "a" * 300]) == 2
    assert "'--name': it has 300 characters; use 200 at the most" in capsys.readouterr().err
    assert main(["keys", "new", key, "--name", "a" * 200]) == 0


GROUPS = ["", "cage", "config", "evidence", "keys", "log", "pki", "property", "rulebook", "shoe"]


@pytest.mark.parametrize("group", [*GROUPS, "sim", "schema", "user"])
def test_a_bare_group_lays_out_its_help(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(group.split()) == 2
    bare = capsys.readouterr()
    assert main([*group.split(), "-h"]) == 0
    assert (bare.out, bare.err) == ("", capsys.readouterr().out)
    assert "\nCommands:\n" in bare.err


def test_help_is_not_wrapped_or_cut_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pki", "-h"]) == 0
    line = "  issue  Issue a certificate for NAME: a server's with --host, a client's without.\n"
    assert line in capsys.readouterr().out


def test_the_version_has_a_short_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-V"]) == main(["--version"]) == 0
    short, long = capsys.readouterr().out.splitlines()
    assert short == long


@pytest.mark.parametrize(
    ("shell", "file"), [("bash", "baccarat.bash"), ("zsh", "_baccarat"), ("fish", "baccarat.fish")]
)
def test_the_completion_that_is_installed_is_that_of_the_command(shell: str, file: str) -> None:
    kind = get_completion_class(shell)
    assert kind is not None
    maker = kind(cli, {}, "baccarat", "_BACCARAT_COMPLETE")
    script = maker.source_template % maker.source_vars()
    assert Path("deploy/completions", file).read_text("utf-8").strip() == script.strip()
    assert file in Path("deploy/install.sh").read_text("utf-8")
    assert file in Path("deploy/remove.sh").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "begun", "found"),
    [
        ([], "do", {"doctor"}),
        (["cage"], "re", {"reconcile", "report"}),
        (["log", "verify"], "--js", {"--json"}),
        (["odds", "--decks"], "", {"4", "6", "8"}),
    ],
)
def test_names_are_completed(words: list[str], begun: str, found: set[str]) -> None:
    made = ShellComplete(cli, {}, "baccarat", "_BACCARAT_COMPLETE").get_completions(words, begun)
    assert found <= {each.value for each in made}
