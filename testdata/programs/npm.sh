#!/bin/sh
# program: node, npm
# does: `npm install`, then `npm ci` from a registry over https; node requires the package and starts a worker
# version: node --version
# needs: npm node
# server: npm
# net: proxy
# prints: hello from a package
set -e
npm="npm --no-audit --no-fund --no-update-notifier --registry https://$HOST/"
$npm install >install.log
rm -r node_modules
$npm ci >ci.log
node -e 'const c = require("child_process").fork("./node_modules/greeter/i.js"); c.on("exit", code => process.exit(code))'
