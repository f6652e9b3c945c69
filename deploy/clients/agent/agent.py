"""An agent in Python's standard library, written from docs/agent-protocol.md and docs/agent-channel.md alone: a second
implementation, so that the documents are checked and not only our own code.

    python3 agent.py URL ENROLLMENT_KEY VERIFIER_KEY < /dev/null

It enrolls, sends a heartbeat, posts logs and events, answers one live query, waits for one offer, verifies and
downloads it in two ranges, and reports the version. It prints one line of JSON per step.
"""

import base64
import hashlib
import json
import os
import socket
import struct
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

# Ed25519 (RFC 8032, 5.1.7): verification alone.
P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def add(a, b):
    """Sum of two points in extended coordinates."""
    x1, y1, z1, t1 = a
    x2, y2, z2, t2 = b
    m, n = (y1 - x1) * (y2 - x2) % P, (y1 + x1) * (y2 + x2) % P
    c, d = 2 * t1 * t2 * D % P, 2 * z1 * z2 % P
    e, f, g, h = n - m, d - c, d + c, n + m
    return e * f % P, g * h % P, f * g % P, e * h % P


def multiply(scalar, point):
    total = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            total = add(total, point)
        point = add(point, point)
        scalar >>= 1
    return total


def decompress(data):
    """The point of 32 bytes; None when they are none."""
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - square) % P or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


BASE = decompress((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def verify(public, message, signature):
    if len(signature) != 64:
        return False
    a, r, s = decompress(public), decompress(signature[:32]), int.from_bytes(signature[32:], "little")
    if a is None or r is None or s >= L:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % L
    x1, y1, z1, _ = multiply(s, BASE)
    x2, y2, z2, _ = add(r, multiply(h, a))
    return (x1 * z2 - x2 * z1) % P == 0 and (y1 * z2 - y2 * z1) % P == 0


def open_note(note, verifier):
    """The text of a C2SP signed note that this key signed."""
    name, key_hash, encoded = verifier.split("+", 2)
    key = base64.b64decode(encoded)
    own = hashlib.sha256(name.encode() + b"\n" + key).digest()[:4]
    if key[0] != 1 or own.hex() != key_hash:
        raise ValueError("the verifier key is malformed")
    text, _, lines = note.rpartition("\n\n")
    text += "\n"
    for line in lines.splitlines():
        _, by, blob = line.split(" ")
        signature = base64.b64decode(blob)
        if by == name and signature[:4] == own:
            if not verify(key[1:], text.encode(), signature[4:]):
                raise ValueError("bad_signature")
            return text
    raise ValueError("bad_signature")


class Agent:
    def __init__(self, url):
        self.url = url.rstrip("/") + "/api/v1"
        self.id = self.token = None
        self.version = "1.0.0"

    def call(self, method, path, body=None, **headers):
        headers = {"Content-Type": "application/json", "User-Agent": "python-agent/1.0.0", **headers}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:
                return reply.status, json.loads(reply.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def enroll(self, key):
        machine = {"hostname": "python", "os": "linux", "arch": "amd64", "agentVersion": self.version}
        status, body = self.call("POST", "/agents/enroll", {"enrollmentKey": key, "hardwareId": os.urandom(8).hex(), **machine})
        assert status == 201, body
        self.id, self.token = body["agentId"], body["token"]

    def heartbeat(self, **more):
        status, body = self.call("POST", f"/agents/{self.id}/heartbeat", {"agentVersion": self.version, **more})
        assert status == 200, body
        return body

    def rotate(self):
        key = {"Idempotency-Key": "rotation-1"}
        first = self.call("POST", f"/agents/{self.id}/rotate-token", {}, **key)
        again = self.call("POST", f"/agents/{self.id}/rotate-token", {}, **key)
        assert first == again and first[0] == 200, (first, again)
        self.token = first[1]["token"]

    def post(self):
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        logs = [{"timestamp": now, "level": "info", "component": "python", "message": "hello"}]
        status, body = self.call("POST", f"/agents/{self.id}/logs", {"logs": logs})
        assert (status, body) == (201, {"received": 1, "refused": []}), body
        events = [{"timestamp": now, "source": "python", "eventId": "1", "message": "started"}]
        counts = [self.call("PUT", f"/agents/{self.id}/eventlogs", {"events": events})[1]["count"] for _ in range(2)]
        assert counts == [1, 0], counts

    def offer(self):
        for _ in range(60):
            updates = self.heartbeat()["updates"]
            if updates:
                return updates[0]
            time.sleep(1)
        raise TimeoutError("no offer")

    def install(self, offer, verifier):
        manifest = json.loads(open_note(offer["manifest"], verifier))
        assert manifest["component"] == offer["component"] and manifest["version"] == offer["version"]
        [artifact] = [each for each in manifest["artifacts"] if (each["os"], each["arch"]) == ("linux", "amd64")]
        assert (artifact["size"], artifact["sha256"]) == (offer["size"], offer["sha256"])
        half = offer["size"] // 2
        # As after an interruption.
        _, have = self.download(offer, {})
        status, rest = self.download(offer, {"Range": f"bytes={half}-", "If-Range": f'"{offer["sha256"]}"'})
        have = have[:half] + rest if status == 206 else rest
        assert len(have) == offer["size"] and hashlib.sha256(have).hexdigest() == offer["sha256"]
        self.version = offer["version"]

    def download(self, offer, headers):
        with urllib.request.urlopen(urllib.request.Request(offer["url"], headers=headers), timeout=30) as reply:
            return reply.status, reply.read()

    def answer_one_query(self):
        """Opens the channel (RFC 6455), and answers the first query with one log."""
        address = urllib.parse.urlsplit(self.url)
        connection = socket.create_connection((address.hostname, address.port or 80), timeout=30)
        lines = [
            f"GET {address.path}/agents/{self.id}/channel HTTP/1.1",
            f"Host: {address.netloc}",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: " + base64.b64encode(os.urandom(16)).decode(),
            f"Authorization: Bearer {self.token}",
        ]
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        stream = connection.makefile("rb")
        assert b" 101 " in stream.readline()
        while stream.readline().strip():
            pass
        say("connected")
        while True:
            opcode, data = read_frame(stream)
            if opcode == 9:
                write_frame(connection, 10, data)
            if opcode not in (1, 2):
                continue
            head = json.loads(data.split(b"\n", 1)[0])
            if head["type"] != "query":
                continue
            if head["operation"] != "eventlogs.list":
                error = {"type": "error", "id": head["id"], "code": "unsupported_operation"}
                write_frame(connection, 2, json.dumps(error).encode())
                continue
            log = {"name": "python", "displayName": "Python", "recordCount": 1, "maxSize": 0, "retentionDays": 0}
            log["lastWriteTime"] = "2026-01-31T12:00:00.000Z"
            frame = json.dumps({"type": "chunk", "id": head["id"], "seq": 0, "last": True})
            write_frame(connection, 2, frame.encode() + b"\n" + json.dumps({"logs": [log]}).encode())
            return connection.close


def read_frame(stream):
    first, second = stream.read(2)
    length = second & 127
    if length == 126:
        [length] = struct.unpack(">H", stream.read(2))
    elif length == 127:
        [length] = struct.unpack(">Q", stream.read(8))
    return first & 15, stream.read(length)


def write_frame(connection, opcode, data):
    size = bytes([128 | len(data)]) if len(data) < 126 else bytes([254]) + struct.pack(">H", len(data))
    mask = os.urandom(4)
    connection.sendall(bytes([128 | opcode]) + size + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))


def say(step, **more):
    print(json.dumps({"step": step, **more}), flush=True)


def main(url, key, verifier):
    agent = Agent(url)
    agent.enroll(key)
    agent.heartbeat(status="ok", metrics={"cpu.percent": 1.5})
    say("online", deviceId=agent.id)
    agent.rotate()
    agent.post()
    say("posted")
    close = agent.answer_one_query()
    say("answered")
    offer = agent.offer()
    say("offered", version=offer["version"])
    agent.install(offer, verifier)
    agent.heartbeat()
    say("updated", version=agent.version)
    close()


if __name__ == "__main__":
    main(*sys.argv[1:4])
