#!/bin/sh
# program: python3
# does: starts workers (`multiprocessing.Pool`, by fork and by spawn) and programs (`subprocess`, `asyncio`), keeps a database (`sqlite3`)
# version: /usr/bin/python3 --version
# needs: python3
# prints: [1, 2] sub async 7
cat >work.py <<'X'
import asyncio, multiprocessing, sqlite3, subprocess

async def ask():
    p = await asyncio.create_subprocess_exec("echo", "async", stdout=subprocess.PIPE)
    return (await p.communicate())[0].decode().strip()

if __name__ == "__main__":
    db = sqlite3.connect("t.db")
    db.executescript("pragma journal_mode=wal; create table t(a); insert into t values(7);")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(abs, [-3]) == [3]
    with multiprocessing.Pool(2) as pool:
        print(pool.map(abs, [-1, -2]), subprocess.check_output(["echo", "sub"], text=True).strip(), asyncio.run(ask()),
              db.execute("select a from t").fetchone()[0])
X
/usr/bin/python3 work.py
