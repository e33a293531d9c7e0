#!/usr/bin/env python3
"""Verify a bundle of sbxcron without sbxcron.

Written from docs/ledger-format.md alone: Python's standard library, ssh-keygen for
the signatures of owners, openssl for those of checkpoints.

    verify.py BUNDLE [--genesis sha256:HEX | --signers FILE] [--checkpoint FILE]...

Prints one JSON object. Exit status: 0 all pass, 20 one verdict is fail, 3 one of the
first three is not_checked, 65 the file is no bundle.
"""
import argparse
import base64
import binascii
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile

MEMBER = re.compile(
    r"ops/op-(\d{6,15})\.json(?:\.sig(?:\.\d{1,2})?)?|conf/checkpoint"
    r"|state/ledger/(?:\d{4}-\d\d\.jsonl|epochs|receipts)"
    r"|state/trust/(?:allowed_signers|revoked_keys)\.[0-9a-f]{64}"
    r"|state/output/\d{4}-\d\d-\d\d/[0-9A-Za-z._-]{1,200}"
)
ARMOUR = re.compile(rb"-----BEGIN SSH SIGNATURE-----\n(?:[A-Za-z0-9+/=]+\n)+-----END SSH SIGNATURE-----\n")
MAX_LINE = 65536
MAX_NOTE = 4096
LEAF = b'{"type":"sbxcron.leaf/v1"'


class NoBundle(Exception):
    pass


class Bad(Exception):
    """Something does not fit; code names the rule."""

    def __init__(self, code, detail):
        super().__init__(detail)
        self.code = code


def sha(data):
    return hashlib.sha256(data).digest()


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def unpack(path):
    files = {}
    try:
        with tarfile.open(path, "r:") as tar:
            for m in tar:
                if m.isdir():
                    continue
                if m.issparse() or not m.isreg() or not MEMBER.fullmatch(m.name):
                    raise NoBundle("it holds %r" % m.name)
                if m.name in files:
                    raise NoBundle("it holds %r twice" % m.name)
                files[m.name] = tar.extractfile(m).read()
                if len(files[m.name]) != m.size:
                    raise NoBundle("%r is cut short" % m.name)
    except (tarfile.TarError, OSError, EOFError) as e:
        raise NoBundle(str(e))
    return files


def encode(value):
    """The one spelling of a value: no blanks, members in their order, control
    characters as \\u00xx and nothing else escaped but quote and backslash."""
    if isinstance(value, dict):
        return "{" + ",".join(encode(k) + ":" + encode(v) for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(encode(v) for v in value) + "]"
    if isinstance(value, str):
        return '"' + "".join("\\" + c if c in '"\\' else "\\u%04x" % ord(c) if c < " " else c for c in value) + '"'
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    raise ValueError("null or a fraction")


def once(pairs):
    if len({k for k, _ in pairs}) != len(pairs):
        raise ValueError("a member stands twice")
    return dict(pairs)


def decode(raw):
    """An object in its one spelling, or ValueError."""
    value = json.loads(raw.decode("utf-8"), object_pairs_hook=once)
    if not isinstance(value, dict) or encode(value).encode("utf-8") != raw:
        raise ValueError("another spelling")
    return value


def instant(text):
    """A time as it compares."""
    m = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z", text or "")
    return (m.group(1), (m.group(2) or "").ljust(9, "0")) if m else None


class Tree:
    """The roots of whole subtrees of the lines so far, the largest first."""

    def __init__(self):
        self.size, self.tops = 0, []

    def add(self, line):
        h, n = sha(b"\x00" + line), self.size
        while n & 1:
            h = sha(b"\x01" + self.tops.pop() + h)
            n >>= 1
        self.tops.append(h)
        self.size += 1

    def root(self):
        if not self.tops:
            return sha(b"")
        h = self.tops[-1]
        for top in reversed(self.tops[:-1]):
            h = sha(b"\x01" + top + h)
        return h


def number(text):
    if not re.fullmatch(r"0|[1-9]\d{0,15}", text) or int(text) > 2**53:
        raise Bad("checkpoint_invalid", "%r is no number" % text)
    return int(text)


def unbase64(text, length):
    try:
        b = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Bad("checkpoint_invalid", "%r is not base64" % text)
    if len(b) != length or base64.b64encode(b).decode() != text:
        raise Bad("checkpoint_invalid", "%r is not base64 of %d bytes" % (text, length))
    return b


class Key:
    def __init__(self, text):
        self.text = text
        parts = text.split("+", 2)
        if len(parts) != 3:
            raise Bad("checkpoint_invalid", "%r is no key" % text)
        self.name, hexhash, b64 = parts
        raw = unbase64(b64, 33)
        self.hash = sha(self.name.encode() + b"\n" + raw)[:4]
        if raw[0] != 1 or self.hash.hex() != hexhash:
            raise Bad("checkpoint_invalid", "%r is no key" % text)
        self.public = raw[1:]

    def signed(self, message, signature):
        der = bytes.fromhex("302a300506032b6570032100") + self.public
        with tempfile.TemporaryDirectory() as d:
            for name, data in (("key", der), ("text", message), ("sig", signature)):
                with open(os.path.join(d, name), "wb") as f:
                    f.write(data)
            args = ["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", "key", "-rawin", "-in", "text", "-sigfile", "sig"]
            return subprocess.run(args, cwd=d, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


class Checkpoint:
    def __init__(self, note):
        if len(note.encode()) > MAX_NOTE or note.count("\n\n") != 1:
            raise Bad("checkpoint_invalid", "not a text, an empty line and one signature")
        text, self.signature = note.split("\n\n")
        self.note, self.text = note, text + "\n"
        lines = text.split("\n")
        if len(lines) not in (6, 7):
            raise Bad("checkpoint_invalid", "not six or seven lines")
        words = [line.split(" ") for line in lines]
        if words[3][0] != "epoch" or words[4][0] != "time" or words[5][0] != "chain" or [len(w) for w in words[:6]] != [1, 1, 1, 2, 2, 3]:
            raise Bad("checkpoint_invalid", "its lines are not those of a checkpoint")
        self.origin, self.size = lines[0], number(lines[1])
        self.root, self.epoch = unbase64(lines[2], 32), number(words[3][1])
        self.time, self.seq, self.head = words[4][1], number(words[5][1]), words[5][2]
        self.next = None
        if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", self.time) or not re.fullmatch(r"sha256:[0-9a-f]{64}", self.head) or self.epoch < 1:
            raise Bad("checkpoint_invalid", "a line of it says nothing")
        if len(lines) == 7:
            if len(words[6]) != 2 or words[6][0] != "next" or not words[6][1]:
                raise Bad("checkpoint_invalid", "its last line names no next key")
            self.next = words[6][1]

    def by(self, key):
        m = re.fullmatch("\u2014 ([^ ]+) ([A-Za-z0-9+/=]+)\n", self.signature)
        if self.origin != key.name or not m or m.group(1) != key.name:
            raise Bad("checkpoint_invalid", "of another log, or not signed as ours are")
        raw = unbase64(m.group(2), 68)
        if raw[:4] != key.hash or not key.signed(self.text.encode(), raw[4:]):
            raise Bad("checkpoint_invalid", "the key of epoch %d has not signed it" % self.epoch)


def follows(old, new):
    """new may come after old in one log."""
    if new.size < old.size or new.epoch < old.epoch or new.seq < old.seq:
        raise Bad("checkpoint_rollback", "it lies behind an older checkpoint")
    if new.size == old.size and new.root != old.root:
        raise Bad("checkpoint_fork", "two roots of %d lines" % new.size)
    if new.seq == old.seq and new.head != old.head:
        raise Bad("checkpoint_fork", "two heads of the chain at op %d" % new.seq)


class Keys:
    def __init__(self, genesis):
        self.keys, self.ends = [Key(genesis)], []

    def open(self, note):
        c = Checkpoint(note)
        if c.epoch > len(self.keys):
            raise Bad("checkpoint_invalid", "nobody has certified the key of epoch %d" % c.epoch)
        c.by(self.keys[c.epoch - 1])
        if c.epoch > 1:
            follows(self.ends[c.epoch - 2], c)
        if c.epoch <= len(self.ends):
            end = self.ends[c.epoch - 1]
            if c.next and c.text != end.text:
                raise Bad("checkpoint_fork", "epoch %d has two last checkpoints" % c.epoch)
            follows(c, end)
        return c

    def end(self, note):
        c = self.open(note)
        if c.epoch != len(self.keys) or not c.next:
            raise Bad("checkpoint_invalid", "not the last checkpoint of epoch %d" % len(self.keys))
        key = Key(c.next)
        if key.name != self.keys[0].name or any(k.text == key.text for k in self.keys):
            raise Bad("checkpoint_invalid", "the next key is not a new one of this log")
        self.keys.append(key)
        self.ends.append(c)
        return c


class Verifier:
    def __init__(self, files, args):
        self.files, self.args = files, args
        self.problems, self.failed, self.unsure, self.checked = [], set(), set(), set()
        self.ops, self.digests = [], []
        self.lines, self.proven, self.trusted = 0, 0, set()
        self.opened, self.began, self.pruned, self.ended = set(), {}, set(), []

    def against(self, verdict, code, where, detail):
        self.failed.add(verdict)
        self.problems.append({"code": code, "where": where, "detail": str(detail)})

    def read_ops(self):
        names = {}
        for name in self.files:
            m = re.fullmatch(r"ops/op-(\d+)\.json", name)
            if m:
                names[int(m.group(1))] = name
        jobs, host = {}, None
        for place, seq in enumerate(sorted(names)):
            self.checked.add("intact")
            raw = self.files[names[seq]]
            where = "op %d" % seq
            try:
                op = decode(raw)
            except ValueError as e:
                self.against("intact", "op_tampered", where, e)
                continue
            host = host or op.get("host")
            prev = self.digests[-1] if self.digests else None
            if seq != place or op.get("seq", 0) != place or op.get("prev") != prev or op.get("host") != host or (op.get("action") == "genesis") != (place == 0):
                self.against("intact", "chain_broken", where, "it does not extend the op before it")
            self.ops.append((names[seq], op, self.namespace(op, jobs)))
            self.digests.append(digest(raw))
        self.host = host

    @staticmethod
    def namespace(op, jobs):
        action, job, who = op.get("action"), op.get("job"), op.get("principal")
        if action in ("genesis", "rebase", "settings"):
            return "root.v1@sbxcron"
        if action in ("add", "replace", "enable"):
            jobs[job] = who
            return "%s.%s.v1@sbxcron" % (op.get("tier"), op.get("net"))
        if action == "attest" or jobs.get(job) == who:
            return "manage.v1@sbxcron"
        return "root.v1@sbxcron"

    def read_notes(self):
        """Every checkpoint that can be believed, by where it stands."""
        self.notes = []
        genesis = self.ops[0][1].get("genesis", {}) if self.ops else {}
        if not genesis.get("audit_key"):
            return
        try:
            keys = Keys(genesis["audit_key"])
        except Bad as e:
            return self.against("intact", e.code, "genesis", e)
        parts = self.text("state/ledger/epochs").split("\n\n")
        for i in range(0, len(parts) - 2, 2):
            self.take("state/ledger/epochs, epoch %d" % (i // 2 + 1), keys.end, parts[i] + "\n\n" + parts[i + 1] + "\n")
        newest = self.text("conf/checkpoint")
        self.newest = self.take("conf/checkpoint", keys.open, newest) if newest else None
        if self.newest and self.newest.next and self.newest.epoch == len(keys.keys):
            self.take("conf/checkpoint", keys.end, newest)
        others = []
        for n, line in enumerate(self.text("state/ledger/receipts").split("\n")):
            try:
                r = json.loads(line)
            except ValueError:
                continue
            if isinstance(r, dict) and r.get("type") == "sbxcron.receipt/v1" and isinstance(r.get("checkpoint"), str):
                others.append(("state/ledger/receipts line %d" % (n + 1), r["checkpoint"]))
        others += [(name, op["checkpoint"]) for name, op, _ in self.ops if op.get("checkpoint")]
        for path in self.args.checkpoint:
            with open(path, encoding="utf-8", newline="") as f:
                others.append((path, f.read()))
        for where, note in others:
            c = self.take(where, keys.open, note)
            if c and (not self.newest or c.size > self.newest.size or c.epoch > self.newest.epoch):
                self.failed.add("runs")
                self.against("complete", "checkpoint_rollback", "conf/checkpoint", "%s knows of more" % where)
        if self.newest:
            at = self.newest.seq
            if at >= len(self.digests):
                self.against("complete", "chain_rollback", "op %d" % at, "the newest checkpoint names it, and it is missing")
            elif self.digests[at] != self.newest.head:
                self.against("intact", "op_tampered", "op %d" % at, "the newest checkpoint names another one")

    def text(self, name):
        return self.files.get(name, b"").decode("utf-8", "replace")

    def take(self, where, read, note):
        try:
            c = read(note)
        except Bad as e:
            verdict = "complete" if e.code == "checkpoint_rollback" else "intact"
            self.failed.add("runs")
            return self.against(verdict, e.code, where, e)
        self.notes.append((c, where))
        return c

    def read_lines(self):
        notes = sorted(self.notes, key=lambda n: n[0].size)
        tree, held = Tree(), []

        def judge():
            while notes and notes[0][0].size == tree.size:
                c, where = notes.pop(0)
                if c.root == tree.root():
                    self.proven = tree.size
                else:
                    self.failed.add("runs")
                    self.against("intact", "ledger_tampered", where, "another root of %d lines" % c.size)

        judge()
        months = sorted(n for n in self.files if n.endswith(".jsonl"))
        sound = True
        for i, name in enumerate(months):
            if not sound:
                break  # behind a line that is none, nothing counts
            lines = self.files[name].split(b"\n")
            if lines.pop() and i < len(months) - 1:
                self.against("intact", "ledger_tampered", name, "its last line has no end")
                self.failed.add("runs")
                sound = False
            for n, line in enumerate(lines):
                self.checked.add("intact")
                where = "%s line %d" % (name, n + 1)
                try:
                    leaf = decode(line)
                    if len(line) > MAX_LINE or not line.startswith(LEAF):
                        raise ValueError("no leaf")
                except ValueError as e:
                    self.against("intact", "ledger_tampered", where, e)
                    self.failed.add("runs")
                    sound = False
                    break
                else:
                    if leaf.get("kind") == "trust_loaded":
                        held.append((tree.size, leaf.get("trust")))
                    self.leaf(where, leaf)
                tree.add(line)
                judge()
        for run in sorted(self.opened):
            self.against("complete", "lost_run", run, "started, and no line says how it ended")
        self.lines = tree.size
        for c, where in notes:
            self.failed.add("runs")
            self.against("complete", "ledger_truncated", where, "it vouches for %d lines, and %d are there" % (c.size, tree.size))
        self.trusted = {t for at, t in held if at < self.proven}
        if self.proven:
            self.checked |= {"runs", "complete"}

    def leaf(self, where, leaf):
        kind, run = leaf.get("kind"), leaf.get("run")
        opens = kind in ("started", "claimed")
        final = kind in ("finished", "refused", "skipped", "missed", "lost") or kind == "held" and "slot" in leaf
        if leaf.get("host") != self.host and self.host:
            self.against("intact", "host_mismatch", where, "of another host")
        if (opens or kind in ("op_accepted", "finished")) and "op" in leaf and self.ops and leaf["op"] not in self.digests:
            self.against("complete", "chain_rollback", where, "it names an op that is not there")
        if (opens or final) and "slot" in leaf:
            self.slot(where, leaf, opens)
        if opens:
            if run in self.opened:
                self.against("complete", "store_corrupt", where, "the run started twice")
            self.opened.add(run)
        elif kind == "attempt" and run not in self.opened:
            self.against("complete", "store_corrupt", where, "tried again, and it does not run")
        elif final and run:
            if kind == "finished" and run not in self.opened:
                self.against("complete", "store_corrupt", where, "the run ended without a start")
            self.opened.discard(run)
        elif kind == "pruned":
            self.pruned.add(run)
        if kind == "finished":
            self.ended.append(leaf)

    def slot(self, where, leaf, opens):
        at = instant(leaf.get("scheduled_for"))
        if "slot_last" in leaf:
            at = max(at or ("", ""), instant(leaf.get("until")) or ("", ""))
        stated = instant(leaf.get("time"))
        if not at or not at[0] or not stated:
            return
        parse = lambda t: datetime.datetime.strptime(t[0], "%Y-%m-%dT%H:%M:%S")
        if (parse(at) - parse(stated), at[1]) > (datetime.timedelta(minutes=10), stated[1]):
            self.against("intact", "store_corrupt", where, "its slot had not come when it was written")
        if opens:
            key = (leaf.get("job"), leaf.get("op"))
            if key in self.began and at <= self.began[key]:
                self.against("complete", "store_corrupt", where, "its slot was started before")
            self.began[key] = at

    def judge_outputs(self):
        if not any(n.startswith("state/output/") for n in self.files):
            return
        by_name = {n.rsplit("/", 1)[1]: n for n in self.files if n.startswith("state/output/")}
        for leaf in self.ended:
            run, outputs = leaf.get("run"), [o for o in leaf.get("outputs", []) if o.get("sha256")]
            if not outputs and "text" not in leaf:
                continue
            if "%s.json" % run not in by_name:
                if run not in self.pruned:
                    self.against("intact", "store_corrupt", "output of " + run, "salts and hashes are gone")
                continue
            try:
                side = decode(self.files[by_name["%s.json" % run]])
                self.held(run, leaf, outputs, side, by_name)
            except (ValueError, KeyError, TypeError) as e:
                self.against("intact", "store_corrupt", "output of " + run, "what lies beside it: %s" % e)

    def held(self, run, leaf, outputs, side, by_name):
        raw = lambda text: bytes.fromhex(text.removeprefix("sha256:"))
        commitment = lambda salt, value: digest(raw(salt) + value)
        streams = {s["stream"]: s for s in side.get("streams", [])}
        for o in outputs:
            s, name = streams[o["stream"]], by_name.get("%s.%s" % (run, o["stream"]))
            if commitment(s["salt"], raw(s["sha256"])) != o["sha256"] or commitment(s["kept_salt"], raw(s["kept_sha256"])) != o["kept_sha256"]:
                raise ValueError("not what was committed to")
            if not name:
                if run not in self.pruned:
                    self.against("intact", "store_corrupt", "output of " + run, "the file is gone")
            elif digest(self.files[name]) != s["kept_sha256"]:
                self.against("intact", "store_corrupt", name, "other bytes than were recorded")
        if "text" in leaf and commitment(side["text_salt"], side["text"].encode()) != leaf["text"]:
            raise ValueError("not the text that was recorded")

    def judge_signers(self):
        genesis, signers = self.args.genesis, self.args.signers
        if not self.ops or not (genesis or signers):
            return
        if genesis and self.digests[0] != genesis:
            return self.against("authentic", "host_mismatch", "op 0", "it is not the genesis that you named")
        self.checked.add("authentic")
        with tempfile.TemporaryDirectory() as d:
            vouched, other = [], []
            if signers:
                vouched.append(os.path.abspath(signers))
            else:
                named = self.trusted | {self.ops[0][1].get("genesis", {}).get("allowed_signers")}
                for name in sorted(self.files):
                    m = re.fullmatch(r"state/trust/allowed_signers\.([0-9a-f]{64})", name)
                    if not m:
                        continue
                    if digest(self.files[name]) != "sha256:" + m.group(1):
                        self.against("intact", "store_corrupt", name, "the bytes do not fit the name")
                        continue
                    path = os.path.join(d, m.group(1))
                    with open(path, "wb") as f:
                        f.write(self.files[name])
                    (vouched if "sha256:" + m.group(1) in named else other).append(path)
            for name, op, namespace in self.ops:
                sigs = sorted(n for n in self.files if n.startswith(name + ".sig"))
                if len(sigs) > 16:
                    self.against("authentic", "sig_invalid", name, "more than 16 signatures")
                    continue
                if sigs and all(self.signed(vouched, name, s, op, namespace, d) for s in sigs):
                    continue
                if sigs and all(self.signed(vouched + other, name, s, op, namespace, d) for s in sigs):
                    self.unsure.add("authentic")
                    self.problems.append({"code": "key_unknown", "where": name, "detail": "signed by a key of a list that nothing vouches for"})
                    continue
                self.against("authentic", "sig_invalid", name, "no list that counts accepts its signature")

    def signed(self, lists, name, sig, op, namespace, d):
        if not ARMOUR.fullmatch(self.files[sig]):
            return False
        path = os.path.join(d, "sig")
        with open(path, "wb") as f:
            f.write(self.files[sig])
        try:
            at = datetime.datetime.strptime(op.get("created", ""), "%Y-%m-%dT%H:%M:%SZ").strftime("%Y%m%d%H%M%SZ")
        except (TypeError, ValueError):
            return False
        for signers in lists:
            args = ["ssh-keygen", "-Y", "verify", "-f", signers, "-I", str(op.get("principal")), "-n", namespace, "-s", path, "-O", "verify-time=" + at]
            run = subprocess.run(args, input=self.files[name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if run.returncode == 0:
                return True
        return False

    def verdict(self, name):
        if name in self.failed:
            return "fail"
        return "pass" if name in self.checked and name not in self.unsure else "not_checked"

    def run(self):
        self.newest = None
        self.read_ops()
        self.read_notes()
        self.read_lines()
        self.judge_outputs()
        self.judge_signers()
        if not self.digests and self.lines:
            self.against("complete", "chain_missing", "ops", "a ledger without ops")
        out = {v: self.verdict(v) for v in ("authentic", "intact", "complete", "runs")}
        out.update(problems=self.problems, ops=len(self.ops), leaves=self.lines, proven=self.proven)
        print(json.dumps(out, indent=2))
        if "fail" in out.values():
            return 20
        return 0 if all(out[v] == "pass" for v in ("authentic", "intact", "complete")) else 3


def main():
    p = argparse.ArgumentParser()
    p.add_argument("bundle")
    p.add_argument("--genesis")
    p.add_argument("--signers")
    p.add_argument("--checkpoint", action="append", default=[])
    args = p.parse_args()
    try:
        files = unpack(args.bundle)
    except NoBundle as e:
        print("no bundle: %s" % e, file=sys.stderr)
        return 65
    return Verifier(files, args).run()


if __name__ == "__main__":
    sys.exit(main())
