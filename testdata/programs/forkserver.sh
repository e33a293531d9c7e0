#!/bin/sh
# program: python3
# does: starts workers by `forkserver`, or shares objects by `multiprocessing.Manager`
# version: /usr/bin/python3 --version
# needs: python3
# ends: denied
# denied: esc_unix_socket AF_UNIX
# why: both listen on a socket with a name
# sign: `multiprocessing.set_start_method("fork")` or `"spawn"`, `Pool` and `Queue`: pipes
cat >work.py <<'X'
import multiprocessing

if __name__ == "__main__":
    multiprocessing.set_start_method("forkserver")
    with multiprocessing.Pool(2) as pool:
        print(pool.map(abs, [-1, -2]))
X
/usr/bin/python3 work.py
