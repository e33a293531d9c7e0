#!/bin/sh
# program: gcc, make
# does: builds a library and a program with `make -j2`, and runs it
# version: gcc --version
# needs: gcc make
# prints: built 42
set -e
printf 'int answer(void) { return 42; }\n' >answer.c
printf '#include <stdio.h>\nint answer(void);\nint main(void) { return printf("built %%d\\n", answer()) < 0; }\n' >main.c
printf 'all: main\nmain: main.o libanswer.a\n\tgcc -o $@ main.o -L. -lanswer\nlibanswer.a: answer.o\n\tar rc $@ $^\n' >Makefile
make -s -j2
./main
