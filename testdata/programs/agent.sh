#!/bin/sh
# program: codex
# does: an agent of npm asks its model over https, runs the command that it is told to, answers
# version: codex --version
# needs: codex node
# server: model
# net: proxy
# slow: yes
# why: its own sandbox cannot start inside ours; its plugins and apps call other hosts, which is denied
# sign: `-a never`, `-s danger-full-access` with `agent_inner_sandbox = "off"` in policy.toml (an ask), `--disable plugins --disable apps`
# prints: the command said
exec codex -a never exec --disable plugins --disable apps -s danger-full-access --skip-git-repo-check -c check_for_update_on_startup=false -c analytics.enabled=false -c model_provider=local -m example \
  -c "model_providers.local={name=\"local\",base_url=\"https://$HOST/v1\",env_key=\"MODEL_KEY\",wire_api=\"responses\",request_max_retries=0,stream_max_retries=0}" \
  'count the words of notes.txt' </dev/null
