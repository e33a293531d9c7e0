#!/bin/sh
# program: pip
# does: installs a wheel from an index over https, and python imports it and downloads with `urllib`
# version: /usr/bin/pip3 --version
# needs: pip3
# server: pip
# net: proxy
# prints: hello from a wheel
set -e
/usr/bin/pip3 install -q --disable-pip-version-check --target lib --index-url "https://$HOST/simple" greeter
PYTHONPATH=lib /usr/bin/python3 -c "
import greeter, urllib.request
assert len(urllib.request.urlopen('https://$HOST/files/x').read()) > 100"
