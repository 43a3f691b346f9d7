"""Clients share what is dear to make, and nothing that they asked for themselves."""

from __future__ import annotations

import ssl

import certifi
import httpx
import pytest
from httpx._transports import default as transports

from crewtop.executor.tls import share_contexts


@pytest.fixture(autouse=True)
def shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transports, "create_ssl_context", transports.create_ssl_context)  # put back at the end
    share_contexts()


def context(transport: httpx.HTTPTransport | httpx.AsyncHTTPTransport) -> ssl.SSLContext:
    found = transport._pool._ssl_context
    assert isinstance(found, ssl.SSLContext)
    return found


def test_clients_share_the_usual_context_which_trusts_nobody_unknown() -> None:
    one, other = context(httpx.HTTPTransport()), context(httpx.AsyncHTTPTransport())
    assert one is other
    assert one.verify_mode is ssl.CERT_REQUIRED
    assert one.check_hostname
    assert one.get_ca_certs()


def test_who_asks_for_something_else_gets_it_alone() -> None:
    usual, own = context(httpx.HTTPTransport()), ssl.create_default_context()
    assert context(httpx.HTTPTransport(verify=own)) is own
    assert context(httpx.HTTPTransport(verify=False)).verify_mode is ssl.CERT_NONE
    assert context(httpx.HTTPTransport(trust_env=False)) is not usual


def test_other_certificates_from_the_environment_are_another_context(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    usual = context(httpx.HTTPTransport())
    monkeypatch.setenv("SSL_CERT_FILE", certifi.where())
    named = context(httpx.HTTPTransport())
    assert named is not usual
    assert context(httpx.AsyncHTTPTransport()) is named
