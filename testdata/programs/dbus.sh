#!/bin/sh
# program: dbus
# does: asks a bus of the host
# version: dbus-daemon --version
# needs: dbus-send
# ends: denied
# denied: esc_unix_socket AF_UNIX
# why: services on a bus start programs for whoever asks
# sign: nothing for the buses; `notify-send` and the like have no place in a job
DBUS_SESSION_BUS_ADDRESS=unix:path=/run/dbus/system_bus_socket dbus-send --session --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.ListNames
