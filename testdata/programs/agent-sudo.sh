#!/bin/sh
# program: codex
# does: an agent of npm whose model wants `sudo`; the agent itself exits with 0
# version: codex --version
# needs: codex node
# server: model-sudo
# net: proxy
# slow: yes
# ends: denied
# denied: esc_sudo sudo -n true
# why: what an agent starts is in the same sandbox, whatever the agent makes of the answer
# sign: nothing: the run is `denied` and says why
# prints: the command said
exec codex -a never exec --disable plugins --disable apps -s danger-full-access --skip-git-repo-check -c check_for_update_on_startup=false -c analytics.enabled=false -c model_provider=local -m example \
  -c "model_providers.local={name=\"local\",base_url=\"https://$HOST/v1\",env_key=\"MODEL_KEY\",wire_api=\"responses\",request_max_retries=0,stream_max_retries=0}" \
  'count the words of notes.txt' </dev/null
