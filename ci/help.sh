# shellcheck shell=bash
# --help, wherever it stands, prints the comment at the top of the script and ends it.  Sourced with the script's own
# words, before anything is done and before the folder changes.
for word in "$@"; do
    if [[ $word == --help || $word == -h ]]; then
        sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"
        exit 0
    fi
done
