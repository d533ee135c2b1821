# shellcheck shell=bash
# Sourced by scripts that take a while.
#
# progress LABEL SECONDS COMMAND ...: runs the command and prints every 15 s how long it has run, beside the time that it
# takes on two idle cores, or that it takes longer.  Returns what the command returns.
progress() {
    local label=$1 expected=$2 start=$SECONDS beat status=0
    shift 2
    (
        # A read that nothing answers: unlike sleep it leaves no process behind when this one is killed.
        exec {never}<> <(:)
        while true; do
            read -r -t 15 -u "$never" || true
            if ((SECONDS - start <= expected)); then
                printf '   ... %s: %d s of about %d s\n' "$label" $((SECONDS - start)) "$expected"
            else
                printf '   ... %s: %d s; two idle cores take %d s\n' "$label" $((SECONDS - start)) "$expected"
            fi
        done
    ) &
    beat=$!
    "$@" || status=$?
    kill "$beat" 2>/dev/null || true
    wait "$beat" 2>/dev/null || true
    return "$status"
}
