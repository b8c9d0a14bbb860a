# Steps with their seconds, for the scripts beside; to be sourced after `set -euo pipefail`.

step_name=""
step_seconds=""

finish_step() {
    [ -n "$step_name" ] || return 0
    step_seconds+="$(printf '%6d s  %s' "$((SECONDS - step_start))" "$step_name")"$'\n'
    printf -- '-- %d s\n' "$((SECONDS - step_start))"
    step_name=""
}

step() {
    finish_step
    step_name="$*"
    step_start=$SECONDS
    printf '\n== %s (%s free)\n' "$*" "$(df -h --output=avail . | tail -1 | tr -d ' ')"
}

# The seconds of all steps, the last of which may have failed.
print_seconds() {
    finish_step
    printf '\n== seconds\n%s%6d s  in all\n' "$step_seconds" "$SECONDS"
}

# One list for all steps, so that each package is compiled once with features and once without.
# `tool-core-doc-tests` is `tool-core` once more, for its examples.
feature_list=tool-runtime/foreign-schemas,tool-runtime/sealed-calls,tool-runtime/opentelemetry,tool-runtime/testing,tool-runtime/url-rules,tool-agent/artifacts,tool-agent/chat-store,tool-agent/opentelemetry,tool-agent/skills,tool-mcp/opentelemetry,tool-session/cli,tool-session/sqlite,tool-session/postgres,tool-session/artifacts,tool-session/tools,tool-builtins/files,tool-builtins/shell,tool-builtins/code,tool-builtins/command-policy,tool-builtins/web,tool-builtins/todo,tool-builtins/agent,tool-builtins/tool-search,tool-builtins/embeddings,tool-kit/cli,tool-kit/mcp,tool-kit/session,tool-kit/agent,tool-mcp/postgres,mcp-examples/postgres,tool-fleet/artifacts,tool-fleet/cli,tool-fleet/nats,tool-fleet/opentelemetry,tool-fleet/postgres,code-agent/program
features=(--workspace --exclude tool-core-doc-tests --features $feature_list --locked)

# The packages that are published, for `cargo package`.
packages=(--workspace --exclude agent-examples --exclude agent-units --exclude benches --exclude code-agent --exclude examples --exclude fleet-examples --exclude kit-examples --exclude mcp-examples --exclude openapi-examples --exclude session-examples --exclude test-support --exclude tool-core-doc-tests --exclude ui-tests)
