"""Verifies a webhook's request: python3 verify_webhook.py WEBHOOK-ID WEBHOOK-TIMESTAMP WEBHOOK-SIGNATURE KEY < body"""
import base64
import binascii
import hashlib
import hmac
import sys
import time

TOLERANCE_SECONDS = 300


def is_signed(message_id: str, timestamp: str, signatures: str, body: bytes, key: str) -> bool:
    """Whether key signed the request: the secret, or a public key whpk_…. body holds the bytes as they came."""
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    signed = f"{message_id}.{timestamp}.".encode() + body
    wanted, check = ("v1a", _by_public_key) if key.startswith("whpk_") else ("v1", _by_secret)
    for each in signatures.split(" "):
        version, _, text = each.partition(",")
        if version == wanted and check(key, signed, text):
            return True
    return False


def _by_secret(key: str, signed: bytes, text: str) -> bool:
    secret = base64.b64decode(key[6:]) if key.startswith("whsec_") else key.encode()
    expected = base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest())
    return hmac.compare_digest(expected, text.encode())


def _by_public_key(key: str, signed: bytes, text: str) -> bool:
    from cryptography.exceptions import InvalidSignature  # pip install cryptography
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(base64.b64decode(key[5:])).verify(base64.b64decode(text), signed)
        return True
    except (InvalidSignature, binascii.Error):
        return False


if __name__ == "__main__":
    given_id, given_timestamp, given_signatures, given_key = sys.argv[1:]
    sys.exit(0 if is_signed(given_id, given_timestamp, given_signatures, sys.stdin.buffer.read(), given_key) else 1)
