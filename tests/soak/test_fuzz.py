"""The shoe link against bytes that a fuzzer finds, for minutes: `FUZZ_SECONDS`, 600 of them."""

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.shoe.fuzzing import check
from tests.support.shoe.ref_bytes import beat, drawn, ref_frame
from tests.support.shoe.shoe_bytes import stream

SECONDS = int(os.environ.get("FUZZ_SECONDS", "600"))
SEEDS = (
    b"\x00\x03\x05" + stream("S, D P1 8S, D B1 --, I B1 KC, E 2, G six PP"),
    b"\x01\x00\x03[Manual Burn Cards]<Card:H3>\r\n[Game]<Card:10S>\r<Alarm:E3 X>\n[Game]<Game>\r",
    b"\x02\x07\x020001\r\n0052\r\n0053\r\n",
    b"\x03\x05\x07"
    + ref_frame(1, 0)
    + drawn(1)
    + drawn(3)
    + beat(3, unacked=1, ms=3000)
    + drawn(2),
    b"\x80\x00\x00D\x01\x03\x02\x11\x08",
    b"\x83\x00\x00\x01\x08\x00\x00\x10\x09\x00\x02\x11\x18\x10\x0b\x00\x02\x11\x18",
)


@pytest.mark.soak(computes=True)
@pytest.mark.skipif(find_spec("atheris") is None, reason="atheris has no wheel for this machine")
def test_what_a_coverage_guided_fuzzer_finds(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(SEEDS):
        (corpus / str(number)).write_bytes(seed)
    options = [f"-max_total_time={SECONDS}", "-max_len=1024", f"-artifact_prefix={tmp_path}/"]
    run = subprocess.run(
        [sys.executable, "-m", "tests.soak.fuzz_shoe", str(corpus), *options],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=SECONDS + 300,
        check=False,
    )
    found = [file.read_bytes().hex() for file in tmp_path.iterdir() if file.is_file()]
    assert (run.returncode, found) == (0, []), run.stdout[-4000:] + run.stderr[-4000:]
    kept = len(list(corpus.iterdir()))
    record_property("figures", f"{run.stderr.splitlines()[-1]}; {kept} inputs kept")


@pytest.mark.soak(computes=True)
@settings(max_examples=20_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.binary(min_size=3, max_size=400))
def test_what_a_blind_fuzzer_finds(data: bytes) -> None:
    check(data)
