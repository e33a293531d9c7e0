#!/bin/sh
# program: java
# does: runs a compiled class that starts a program
# version: java --version
# needs: java javac
# ends: works as signed
# slow: yes
# prints: forked 0
# expected: net_denied_direct AF_INET
# expected: net_denied_direct AF_INET6
# why: `javac` (not `java` of a class that uses no network) loads libnet, which tries which families exist
# sign: both in `denials.expected`, or build elsewhere, or net proxy, where the families exist
set -e
cat >A.java <<'X'
public class A {
    public static void main(String[] a) throws Exception {
        System.out.println(new String(new ProcessBuilder("echo", "-n", "forked ").start().getInputStream().readAllBytes()) + 0);
    }
}
X
javac -J-Xmx128m A.java
java -Xmx128m -cp . A
