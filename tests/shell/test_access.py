"""Who we are to the server, who it is to us, and where that is written."""

import gc
import ssl
import warnings
from pathlib import Path

import pytest
import trio
import trustme
import yaml
from kubernetes_asyncio.client import Configuration

from sky_shell import access
from sky_shell.access import AccessError, found, in_cluster, kubeconfig
from sky_shell.bridge import bridge
from sky_shell.testing.loopback import Exchange, loopback
from sky_shell.transport import TransportError

SOON = 20.0


async def answering(exchange: Exchange) -> None:
    await exchange.answer(200, exchange.headers.get("authorization", "").encode())


def server_side(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


def written(folder: Path, server: str, user: dict[str, object], cluster: dict[str, object] | None = None) -> str:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server, **(cluster or {})}}],
        "users": [{"name": "u", "user": user}],
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump(content))
    return str(path)


async def test_a_kubeconfig_names_the_server_its_authority_and_a_token(tmp_path: Path) -> None:
    authority = trustme.CA()
    (tmp_path / "ca.crt").write_bytes(authority.cert_pem.bytes())
    with trio.fail_after(SOON):
        async with loopback(answering, server_side(authority)) as server:
            path = written(tmp_path, server, {"token": "t"}, {"certificate-authority": "ca.crt"})
            async with bridge(kubeconfig(path)) as transport:
                response = await transport.request("GET", "/version")
    assert response.body == b"Bearer t"


async def test_a_server_of_another_authority_is_not_talked_to(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(trustme.CA().cert_pem.bytes())
    with trio.fail_after(SOON):
        async with loopback(answering, server_side(trustme.CA())) as server:
            path = written(tmp_path, server, {"token": "t"}, {"certificate-authority": "ca.crt"})
            async with bridge(kubeconfig(path)) as transport:
                with pytest.raises(TransportError, match="certificate"):
                    await transport.request("GET", "/version")


async def test_f17_an_authority_that_was_rotated_is_read_again(tmp_path: Path) -> None:
    old, new = trustme.CA(), trustme.CA()
    (tmp_path / "ca.crt").write_bytes(old.cert_pem.bytes())
    with trio.fail_after(SOON):
        async with loopback(answering, server_side(new)) as server:
            path = written(tmp_path, server, {"token": "t"}, {"certificate-authority": "ca.crt"})
            async with bridge(kubeconfig(path)) as transport:
                (tmp_path / "ca.crt").write_bytes(new.cert_pem.bytes())
                assert (await transport.request("PUT", "/version", body=b"{}")).status == 200


async def test_a_watch_that_is_left_is_gone_though_the_server_does_not_say_farewell(tmp_path: Path) -> None:
    authority = trustme.CA()
    (tmp_path / "ca.crt").write_bytes(authority.cert_pem.bytes())

    async def telling(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.say(b"{}\n")
        await trio.sleep_forever()

    with trio.fail_after(SOON), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ResourceWarning)
        async with loopback(telling, server_side(authority)) as server:
            path = written(tmp_path, server, {"token": "t"}, {"certificate-authority": "ca.crt"})
            async with bridge(kubeconfig(path)) as transport, transport.stream("/watch", query={}) as lines:
                assert await lines.next_lines() == [b"{}"]
        gc.collect()
    assert [str(one.message) for one in warned] == []


async def test_a_client_certificate_is_shown(tmp_path: Path) -> None:
    authority = trustme.CA()
    tls = server_side(authority)
    tls.verify_mode = ssl.CERT_REQUIRED
    authority.configure_trust(tls)
    (tmp_path / "ca.crt").write_bytes(authority.cert_pem.bytes())
    ours = authority.issue_cert("sky@example.org")
    ours.cert_chain_pems[0].write_to_path(str(tmp_path / "our.crt"))
    ours.private_key_pem.write_to_path(str(tmp_path / "our.key"))
    user: dict[str, object] = {"client-certificate": "our.crt", "client-key": "our.key"}
    with trio.fail_after(SOON):
        async with loopback(answering, tls) as server:
            path = written(tmp_path, server, user, {"certificate-authority": "ca.crt"})
            async with bridge(kubeconfig(path)) as transport:
                assert (await transport.request("GET", "/version")).status == 200


async def test_a_kubeconfig_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    path = tmp_path / "config"
    for content in ("", "a: [", "apiVersion: v1\nkind: Config\n"):
        path.write_text(content)
        with pytest.raises(AccessError, match=str(path)):
            async with bridge(kubeconfig(str(path))):
                pass


async def test_a_kubeconfig_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    path = f"{tmp_path / 'none'}:{tmp_path / 'neither'}"
    with pytest.raises(AccessError, match=f"{path} can't be used: there is no such file"):
        async with bridge(kubeconfig(path)):
            pass


async def test_without_a_kubeconfig_and_outside_of_a_pod_there_is_no_access(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(AccessError, match="no kubeconfig is given"):
        async with bridge(in_cluster()):
            pass


async def test_a_named_file_wins_over_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = written(tmp_path, "http://one", {})
    (tmp_path / "other").mkdir()
    other = written(tmp_path / "other", "http://other", {})
    monkeypatch.setenv("KUBECONFIG", one)

    async def host(load: access.Load) -> str | None:
        configuration: Configuration = await load()
        return configuration.host

    assert await host(found(other)) == "http://other"
    assert await host(found()) == "http://one"
