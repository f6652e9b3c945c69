#!/usr/bin/env python3
"""Verifies a Muster audit export in parts, from its documented format alone (docs/operations/audit-export-format.md).

usage: verify_audit_export.py FOLDER VERIFIER_KEY [DEPLOYMENT]
Needs Python 3.8 and nothing else. Exits with 0 when everything verifies, else with 1 and a sentence.
"""
import base64
import gzip
import hashlib
import json
import re
import sys
from pathlib import Path

P = 2**255 - 19
D = -121665 * pow(121666, P - 2, P) % P
ORDER = 2**252 + 27742317777372353535851937790883648493


def recover_x(y, sign):
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - square) % P:
        raise ValueError("no point")
    return P - x if x & 1 != sign else x


def point(data):
    number = int.from_bytes(data, "little")
    y = number & (2**255 - 1)
    x = recover_x(y, number >> 255)
    return (x, y, 1, x * y % P)


def add(a, b):
    u, v = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    c, d = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = v - u, d - c, d + c, v + u
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def times(number, a):
    result = (0, 1, 1, 0)
    while number:
        if number & 1:
            result = add(result, a)
        a, number = add(a, a), number >> 1
    return result


BASE = point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def ed25519_holds(public, message, signature):
    """RFC 8032, section 5.1.7."""
    s = int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or s >= ORDER:
        return False
    digest = hashlib.sha512(signature[:32] + public + message).digest()
    h = int.from_bytes(digest, "little") % ORDER
    left, right = times(s, BASE), add(point(signature[:32]), times(h, point(public)))
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 and (left[1] * right[2] - right[1] * left[2]) % P == 0


class Refused(Exception):
    pass


class Key:
    def __init__(self, text):
        self.name, self.hash, blob = text.strip().split("+", 2)
        self.public = base64.b64decode(blob)[1:]

    def open(self, note):
        """The text of a note that this key has signed."""
        text, _, signatures = note.rpartition("\n\n")
        text += "\n"
        for line in signatures.splitlines():
            _, name, blob = line.split(" ")
            signed = base64.b64decode(blob)
            if name == self.name and signed[:4].hex() == self.hash:
                if ed25519_holds(self.public, text.encode(), signed[4:]):
                    return text
                raise Refused("a signature does not hold")
        raise Refused("a note is not signed by the given key")


def number_text(value):
    """A number as ECMAScript writes it (RFC 8785, section 3.2.2.3)."""
    if isinstance(value, int):
        return str(value) if abs(value) < 2**53 else number_text(float(value))
    if value == 0:
        return "0"
    sign, text = ("-", repr(-value)) if value < 0 else ("", repr(value))
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    point_at = len(whole) + int(exponent or 0) - (len(whole + fraction) - len((whole + fraction).lstrip("0")))
    digits = digits.rstrip("0")
    if len(digits) <= point_at <= 21:
        return sign + digits + "0" * (point_at - len(digits))
    if 0 < point_at <= 21:
        return sign + digits[:point_at] + "." + digits[point_at:]
    if -6 < point_at <= 0:
        return sign + "0." + "0" * -point_at + digits
    rest = "." + digits[1:] if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{rest}e{'+' if point_at > 0 else '-'}{abs(point_at - 1)}"


def canonical(value):
    """RFC 8785."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(canonical(name) + ":" + canonical(value[name]) for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return number_text(value)


PERSONAL = ("actorEmail", "actorName", "ipAddress", "userAgent")
HASHED = {
    1: (
        "action actorDepartment actorId actorRole actorType chainId details errorMessage id orgId partnerId prevChecksum "
        "resourceId resourceName resourceType result seq sessionId timestamp"
    ).split(),
}
HASHED[2] = HASHED[1] + ["targets"]


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def checksum_of(row):
    names = HASHED.get(row["format"])
    if names is None:
        raise Refused(f"row {row['seq']} has the format {row['format']}, which this program does not know")
    personal = canonical({name: row.get(name) for name in PERSONAL}).encode()
    digest = row.get("personalDigest") or sha256(bytes.fromhex(row["personalSalt"]) + personal)
    payload = {name: row.get(name) for name in names}
    return sha256(canonical({**payload, "personal": digest, "v": row["format"]}).encode())


def signed_lines(key, deployment, data, what):
    """The lines of a file whose last one signs the others."""
    head, _, last = data.rstrip(b"\n").rpartition(b"\n")
    before, end = head + b"\n" if head else b"", json.loads(last)
    if end.get("type") != "end" or not end.get("note"):
        raise Refused(f"{what} has no signed end")
    name, rows, digest = key.open(end["note"]).splitlines()[:3]
    if name != f"{deployment or name[: -len('/audit/export')]}/audit/export":
        raise Refused(f"{what} is of another deployment")
    if digest != sha256(before) or int(rows) != end["rows"]:
        raise Refused(f"{what} is not what was exported")
    return [json.loads(line) for line in before.splitlines()], end


def verify(folder, key, deployment):
    manifest = gzip.decompress((folder / "manifest.jsonl.gz").read_bytes())
    lines, end = signed_lines(key, deployment, manifest, "the manifest")
    of = {kind: [line for line in lines if line["type"] == kind] for kind in ("export", "part", "checkpoint", "chain")}
    (export,), (chain,) = of["export"], of["chain"]
    whole = chain["from"] is not None
    heads = {}
    for line in of["checkpoint"]:
        origin, seq, head = key.open(line["note"]).splitlines()[:3]
        if not origin.endswith("/audit/" + export["chainId"]):
            raise Refused("a checkpoint is another chain's")
        heads[int(seq)] = head
    seq, last, rows = (chain["from"] - 1 if whole else 0), None, 0
    for number, part in enumerate(of["part"], 1):
        data = gzip.decompress((folder / f"part-{number:06d}.jsonl.gz").read_bytes())
        if part["number"] != number or sha256(data) != part["sha256"]:
            raise Refused(f"part {number} is not what was exported")
        for row in signed_lines(key, deployment, data, f"part {number}")[0]:
            if row["type"] != "row":
                continue
            if row["chainId"] != export["chainId"] or row["seq"] <= seq or (whole and row["seq"] != seq + 1):
                raise Refused(f"row {row['seq']} does not follow row {seq}")
            if checksum_of(row) != row["checksum"]:
                raise Refused(f"row {row['seq']} was altered")
            if whole and last is not None and row["prevChecksum"] != last:
                raise Refused(f"row {row['seq']} does not link to the row before it")
            if heads.get(row["seq"], row["checksum"]) != row["checksum"]:
                raise Refused(f"row {row['seq']} is not the one of its checkpoint")
            seq, last, rows = row["seq"], row["checksum"], rows + 1
    if rows != end["rows"]:
        raise Refused(f"{end['rows']} rows were exported, {rows} are here")
    if whole and (seq != chain["headSeq"] or (last is not None and last != chain["headChecksum"])):
        raise Refused(f"the chain ends at {seq}, not at {chain['headSeq']}")
    return rows, len(of["part"]), len(heads)


def main(folder, key, deployment=None):
    if not Path(folder).is_dir():
        print(f"NOT OK: {folder} is no folder: an export in parts is one (muster audit export --parts FOLDER)")
        return 1
    try:
        rows, parts, checkpoints = verify(Path(folder), Key(key), deployment)
    except (Refused, OSError, EOFError, ValueError, KeyError) as error:
        print(f"NOT OK: {error}")
        return 1
    print(f"OK: {rows} rows in {parts} parts, {checkpoints} checkpoints")
    return 0


if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
