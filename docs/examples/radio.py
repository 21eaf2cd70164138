"""The radio of radio.mjs in Python 3.10 or newer, with nothing but the standard library.

    python3 docs/examples/radio.py listen URL TOKEN [BURSTS]
    python3 docs/examples/radio.py talk URL TOKEN TALKGROUP_ID FILE.ogg
"""
import base64
import json
import os
import random
import socket
import ssl
import struct
import sys
import time
import zlib
from urllib.parse import quote, urlsplit

# ---- Audio frames: a header of 16 bytes, then the payload.

HEADER = struct.Struct(">BBHIII")  # flags, epoch, sequence, talkgroup number, session, burst
VERSION_1_AUDIO = 0x40
START = 0x08
END = 0x04


def encode_frame(flags, sequence, number, payload):
    # The relay fills in session and burst.
    return HEADER.pack(VERSION_1_AUDIO | flags, 0, sequence & 0xFFFF, number, 0, 0) + payload


def decode_frame(data):
    """(session, burst, payload), or None for a kind of frame that we did not ask for."""
    flags, _, _, _, session, burst = HEADER.unpack_from(data)
    return (session, burst, data[HEADER.size:]) if flags & 0xF0 == VERSION_1_AUDIO else None


# ---- A WebSocket (RFC 6455). In a project of your own, the package `websockets` does this.

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class Closed(Exception):
    def __init__(self, code, reason=""):
        super().__init__(f"{code} {reason}")
        self.code, self.reason = code, reason


class WebSocket:
    """Opens a connection. Every method raises Closed when it is over."""

    def __init__(self, url):
        address = urlsplit(url)
        is_secure = address.scheme == "wss"
        port = address.port or (443 if is_secure else 80)
        self.data = b""
        try:
            self.socket = socket.create_connection((address.hostname, port), timeout=10)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if is_secure:
                context = ssl.create_default_context()
                self.socket = context.wrap_socket(self.socket, server_hostname=address.hostname)
            key = base64.b64encode(os.urandom(16)).decode()
            self.socket.sendall(
                f"GET {address.path}?{address.query} HTTP/1.1\r\nHost: {address.netloc}\r\n"
                "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
            )
            while b"\r\n\r\n" not in self.data:
                self._read()
        except OSError as error:
            raise Closed(1006, str(error)) from error
        head, _, self.data = self.data.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 101"):
            raise Closed(1006, head.split(b"\r\n")[0].decode())

    def send(self, opcode, payload):
        """A message in one frame. Clients mask each frame with a key of its own."""
        length = len(payload)
        head = bytes([0x80 | opcode])
        if length < 126:
            head += bytes([0x80 | length])
        elif length < 65_536:
            head += struct.pack(">BH", 0x80 | 126, length)
        else:
            head += struct.pack(">BQ", 0x80 | 127, length)
        key = os.urandom(4)
        mask = (key * (length // 4 + 1))[:length]
        masked = int.from_bytes(payload, "big") ^ int.from_bytes(mask, "big")
        try:
            self.socket.settimeout(10)
            self.socket.sendall(head + key + masked.to_bytes(length, "big"))
        except OSError as error:
            raise Closed(1006, str(error)) from error

    def receive(self, wait_s):
        """(opcode, payload) of the next message, or None when none came within `wait_s`. Answers pings."""
        deadline = time.monotonic() + wait_s
        while True:
            frame = self._take_frame()
            if frame is None:
                self.socket.settimeout(max(0.001, deadline - time.monotonic()))
                try:
                    self._read()
                except TimeoutError:
                    return None
                except OSError as error:
                    raise Closed(1006, str(error)) from error
                continue
            opcode, payload = frame
            if opcode == PING:
                self.send(PONG, payload)  # the relay measures by it whether we keep up
            elif opcode == CLOSE:
                code = int.from_bytes(payload[:2], "big") if len(payload) >= 2 else 1005
                raise Closed(code, payload[2:].decode())
            elif opcode in (TEXT, BINARY):
                return frame  # the relay sends no message in several frames

    def close(self, code):
        """Waits for the close of the other side, or for a second of silence."""
        try:
            self.send(CLOSE, struct.pack(">H", code))
            while self.receive(1) is not None:
                pass
        except Closed:
            pass
        self.socket.close()

    def _read(self):
        received = self.socket.recv(65_536)
        if not received:
            raise Closed(1006, "the connection ended")
        self.data += received

    def _take_frame(self):
        data = self.data
        if len(data) < 2:
            return None
        length, at = data[1] & 0x7F, 2
        if length >= 126:
            at = 4 if length == 126 else 10
            if len(data) < at:
                return None
            length = int.from_bytes(data[2:at], "big")
        if len(data) < at + length:
            return None
        self.data = data[at + length:]
        return data[0] & 0x0F, data[at:at + length]


# ---- The radio.

PACKET_S = 0.02


class Radio:
    def __init__(self, url, token):
        self.address = f"{url}/ws?token={quote(token)}"
        self.link = None
        self.session = None  # None until WELCOME
        self.resume_token = None
        self.failures = 0
        self.opened_at = self.heard_at = self.asked_at = self.go_away_until = 0.0
        self.syncs = {}  # when to ask for a new snapshot, by talkgroup_id
        self.talkgroups = {}  # by talkgroup_id: the snapshot, with `event` kept current
        self.running = {}  # by (session, burst): what we heard of it
        self.bursts_left = None
        self.talk = None
        self.is_done = False
        self.exit_code = 0

    def run(self):
        """Stays connected until the work is done or the server says stop."""
        while True:
            try:
                self._connect()
                while not self.is_done:
                    self._turn()
                self.link.close(1000)  # for good: the session is not kept
                raise Closed(1000)
            except Closed as close:
                delay_s = self._after(close)
                if delay_s is None:
                    return self.exit_code
                print(f"connection lost: {close}, next attempt in {delay_s * 1000:.0f} ms", flush=True)
                time.sleep(delay_s)

    def _connect(self):
        resume = "" if self.resume_token is None else f"&resume={quote(self.resume_token)}"
        self.heard_at = self.asked_at = time.monotonic()
        self.link = WebSocket(self.address + resume)

    def _turn(self):
        """Sends what is due, then waits for a message, at most until the next packet is due."""
        now = time.monotonic()
        wait_s = self.talk.speak(now) if self.talk and self.session is not None else 1.0
        for talkgroup_id in [one for one, due in self.syncs.items() if due <= now]:
            del self.syncs[talkgroup_id]
            self._send({"type": "SYNC", "talkgroup_id": talkgroup_id, "ref": "sync"})
        message = self.link.receive(wait_s)
        if message is not None:
            self.heard_at = time.monotonic()
            opcode, payload = message
            self._text(json.loads(payload)) if opcode == TEXT else self._frame(decode_frame(payload))
        self._check_link(time.monotonic())

    def _check_link(self, now):
        """TCP can take minutes to notice a dead link. After 15 s of silence we ask, after 10 s more we give up."""
        if now - self.heard_at > 25:
            self.link.socket.close()
            raise Closed(1006, "no answer")
        if self.session is not None and now - max(self.heard_at, self.asked_at) > 15:
            self.asked_at = now
            self._send({"type": "PING", "t": int(time.time() * 1000)})

    def _send(self, message):
        self.link.send(TEXT, json.dumps(message).encode())

    def _after(self, close):
        """How long to wait before the next attempt, None to stop."""
        if self.session is not None and time.monotonic() - self.opened_at >= 5:
            self.failures = 0
        self.session = None
        self.syncs.clear()
        if close.code == 1000 or (close.code == 1008 and close.reason != "device disabled"):
            print(f"stopped: {close}", flush=True)
            self.exit_code = self.exit_code if close.code == 1000 else 1
            return None
        jitter_s = random.random() * min(30, 0.5 * 2**self.failures)
        self.failures += 1
        if close.code == 1008:  # device disabled
            return random.uniform(45, 75)
        if close.code == 1013 and close.reason == "rate_limited":
            return 30 + jitter_s
        if close.code == 1013:
            return 5 + max(jitter_s, random.random() * 5)
        return max(0, self.go_away_until - time.monotonic()) + jitter_s

    # What the server tells: talkgroups from snapshots, talkers from events.

    def _text(self, message):
        kind = message["type"]
        if kind == "WELCOME":
            self.session = message["session"]
            self.resume_token = message["resume_token"]
            self.opened_at = time.monotonic()
            self.go_away_until = 0.0
            print("resumed" if message["resumed"] else "connected", flush=True)
            self.talkgroups.clear()  # what we knew is out of date
        if kind in ("WELCOME", "SUBSCRIBED"):  # SUBSCRIBED: further talkgroups, or state that is repeated
            for snapshot in message["talkgroups"]:
                self._take_snapshot(snapshot)
        elif kind in ("SYNCED", "TALKGROUP_JOINED"):
            self._take_snapshot(message)
        elif kind == "TALKGROUP_LEFT":
            self._leave(message["talkgroup_id"])
        elif kind == "TALKGROUP_CHANGED":
            self.talkgroups.get(message["talkgroup_id"], {}).update(message)
        elif kind == "LAG":
            print("audio was skipped", flush=True)  # an app drops all audio that it has not played yet
        elif kind == "GOAWAY":
            self.go_away_until = time.monotonic() + message["reconnect_after_ms"] / 1000
        elif kind in ("TALK_STARTED", "TALK_ENDED", "EMERGENCY", "KEY_ROTATED") and self._is_new(message):
            if kind == "TALK_STARTED":
                self._begin(message)
            elif kind == "TALK_ENDED":
                self._finish((message["session"], message["burst"]), message["code"])
        if self.talk:
            self.talk.follow(message)

    def _take_snapshot(self, snapshot):
        talkgroup_id = snapshot["talkgroup_id"]
        self.talkgroups[talkgroup_id] = snapshot
        listed = {(talker["session"], talker["burst"]) for talker in snapshot["talkers"]}
        for key in [key for key, heard in self.running.items() if heard["talkgroup_id"] == talkgroup_id]:
            if key not in listed:
                self._finish(key, "lost")
        for talker in snapshot["talkers"]:
            self._begin(talker)

    def _leave(self, talkgroup_id):
        """Its bursts are not heard to their end."""
        self.talkgroups.pop(talkgroup_id, None)
        for key in [key for key, heard in self.running.items() if heard["talkgroup_id"] == talkgroup_id]:
            self._finish(key, "left")

    def _is_new(self, message):
        """False for an event that the snapshot includes. After a gap it asks for a new snapshot, not at once."""
        talkgroup = self.talkgroups.get(message["talkgroup_id"])
        if talkgroup is None or message["event"] <= talkgroup["event"]:
            return False
        if message["event"] > talkgroup["event"] + 1:
            self.syncs[message["talkgroup_id"]] = time.monotonic() + random.random() * 2
        talkgroup["event"] = message["event"]
        return True

    # Listening.

    def _begin(self, talker):
        key = (talker["session"], talker["burst"])
        if talker["session"] == self.session or key in self.running:
            return  # our own, or known
        self.running[key] = {"talkgroup_id": talker["talkgroup_id"], "packets": 0, "checksum": 0}
        print(f"{talker['username']} talks in {self.talkgroups[talker['talkgroup_id']]['name']}", flush=True)

    def _frame(self, frame):
        heard = self.running.get(frame[:2]) if frame else None
        if heard is None or not frame[2]:
            return  # the END of a burst may be empty
        heard["packets"] += 1
        heard["checksum"] = zlib.crc32(frame[2], heard["checksum"])
        # An app gives the payload to the jitter buffer of this talker here.

    def _finish(self, key, code):
        heard = self.running.pop(key, None)
        if heard is None:
            return
        print(f"heard {heard['packets']} packets, checksum {heard['checksum']:x}: {code}", flush=True)
        if self.bursts_left is not None:
            self.bursts_left -= 1
            self.is_done = self.bursts_left == 0


class Talk:
    """Sends packets at the speed of live speech, and follows what the server says about it."""

    def __init__(self, radio, talkgroup_id, packets):
        self.radio, self.talkgroup_id, self.packets = radio, talkgroup_id, packets
        self.period = 0  # of the next packet
        self.start_period = None  # of the burst's first frame, None before it
        self.started_at = None
        self.denials = 0  # with retry_later, since the last decision
        self.ask_again_at = 0.0

    def speak(self, now):
        """Sends the packet that is due. How long until the next one."""
        if self.started_at is None:
            self.started_at = now
        due_at = self.started_at + self.period * PACKET_S
        if due_at > now:
            return due_at - now
        if self.period == len(self.packets):
            if now > due_at + 5:  # the relay ends a silent burst after 2 s
                self.over("lost")
            return 0.1
        # Speech from the time without a connection is dropped, never sent later.
        if now - due_at < 0.5:
            self._transmit(self.packets[self.period], self.period == len(self.packets) - 1)
        self.period += 1
        return 0.0

    def _transmit(self, payload, is_last):
        if time.monotonic() < self.ask_again_at:
            if is_last:
                self.over("retry_later")  # the button is released
            return
        talkgroup = self.radio.talkgroups.get(self.talkgroup_id)
        if talkgroup is None:
            return
        flags = (START if self.start_period is None else 0) | (END if is_last else 0)
        if self.start_period is None:
            self.start_period = self.period
        self.radio.link.send(
            BINARY, encode_frame(flags, self.period - self.start_period, talkgroup["number"], payload)
        )

    def follow(self, message):
        kind, code = message["type"], message.get("code")
        if kind == "WELCOME":
            self._connected(message)
        elif kind == "ERROR" and "ref" not in message:
            self.over(code)  # about one of our frames
        elif message.get("talkgroup_id") != self.talkgroup_id:
            return
        elif kind == "TALKGROUP_LEFT":
            self.over("not_member")
        elif kind == "FLOOR_DENIED" and code == "retry_later" and self._may_ask_again():
            self._ask_again(message["retry_ms"])
        elif kind in ("FLOOR_DENIED", "FLOOR_REVOKED"):
            self.over(code)
        elif message.get("session") == self.radio.session:
            if kind == "TALK_STARTED":
                self.denials = 0
                print("talking", flush=True)
            elif kind == "TALK_ENDED" and self.period == len(self.packets):
                self.over(code)
            elif kind == "TALK_ENDED":
                self.start_period = None  # after 2 s of silence: the next frame begins another burst

    def _may_ask_again(self):
        return self.period < len(self.packets) and self.denials < 9

    def _ask_again(self, retry_ms):
        """No decision yet: sends nothing for retry_ms and up to half of it more. Then a frame is a new request."""
        self.denials += 1
        self.ask_again_at = time.monotonic() + retry_ms / 1000 * (1 + random.random() / 2)
        self.start_period = None

    def _connected(self, welcome):
        """After a lost connection the burst goes on if the server still has it."""
        talkgroup = self.radio.talkgroups.get(self.talkgroup_id)
        if talkgroup is None and len(self.radio.talkgroups) == welcome["talkgroups_total"]:
            return self.over("not_member")
        talkers = talkgroup["talkers"] if talkgroup else []
        if not any(talker["session"] == self.radio.session for talker in talkers):
            self.start_period = None

    def over(self, code):
        checksum = 0
        for packet in self.packets:
            checksum = zlib.crc32(packet, checksum)
        print(f"sent {len(self.packets)} packets, checksum {checksum:x}: {code}", flush=True)
        self.radio.exit_code = 0 if code == "released" else 1
        self.radio.is_done = True


def read_ogg(path):
    """The packets of an Ogg Opus file."""
    with open(path, "rb") as file:
        data = file.read()
    packets, part, at = [], b"", 0
    while at < len(data):
        lengths = data[at + 27:at + 27 + data[at + 26]]  # of the segments in this page
        at += 27 + len(lengths)
        for length in lengths:
            part += data[at:at + length]
            at += length
            if length < 255:  # a shorter one ends a packet
                packets.append(part)
                part = b""
    return packets[2:]  # the first two are headers


def main():
    command, url, token, *rest = sys.argv[1:]
    radio = Radio(url, token)
    if command == "listen":
        radio.bursts_left = int(rest[0]) if rest else None
    else:
        radio.talk = Talk(radio, rest[0], read_ogg(rest[1]))
    return radio.run()


if __name__ == "__main__":
    sys.exit(main())
