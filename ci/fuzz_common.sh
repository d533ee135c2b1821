# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # variables that the scripts set for this file, or this file for them
# What the scripts that fuzz share.  Sourced from the top of the tree, with the script's own name in `script`.

# One line, and the exit code: 2 bad usage, 4 the machinery failed.
fail() { # STATUS TEXT
    echo "$script: $2" >&2
    exit "$1"
}

# What fails where nobody looks at it (no space, no folder) is no finding, and 1 would say that it is one.  In a
# subshell its caller decides.
set -E
machinery_failed() { # FILE LINE
    if ((BASH_SUBSHELL == 0)); then fail 4 "$1:$2: a command failed"; fi
}
trap 'machinery_failed "${BASH_SOURCE[0]:-$0}" "$LINENO"' ERR

need() { # COMMAND PACKAGE
    command -v "$1" >/dev/null || fail 4 "$1 is missing: apt-get install $2 (or run ci/setup)"
}

# Sets seconds: 90s, 10m, 8h, or a number of seconds.
parse_seconds() { # OPTION TEXT
    [[ $2 =~ ^([0-9]{1,6})([smh]?)$ ]] || fail 2 "$1: '$2' is not a time such as 90s, 10m or 8h"
    case ${BASH_REMATCH[2]} in
    m) seconds=$((10#${BASH_REMATCH[1]} * 60)) ;;
    h) seconds=$((10#${BASH_REMATCH[1]} * 3600)) ;;
    *) seconds=$((10#${BASH_REMATCH[1]})) ;;
    esac
}

# Sets count.
parse_count() { # OPTION TEXT LEAST
    if ! [[ $2 =~ ^[0-9]{1,9}$ ]] || ((10#$2 < $3)); then fail 2 "$1: '$2' is not a number from $3 to 999999999"; fi
    count=$((10#$2))
}

# The value of an option is the word behind it.
value_of() { # OPTION WORDS-LEFT
    (($2 > 1)) || fail 2 "$1: its value is missing"
}

# Sets path: a path counts from where the caller stood, which the script has left in `caller`.
path_of() { # OPTION TEXT
    [[ -n $2 ]] || fail 2 "$1: a name is missing"
    path=$2
    if [[ $path != /* && $caller != "$PWD" ]]; then path=${caller%/}/$path; fi
}

# The subject under fuzz: a name, or the path of a plug-in.
take_subject() { # OPTION TEXT
    [[ -n $2 ]] || fail 2 "$1: a name is missing"
    path=$2
    if [[ $2 == */* ]]; then path_of "$1" "$2"; fi
    export HBMSTRESS_FUZZ_TARGET=$path
}

configure_preset() { # PRESET
    local log
    log=$(cmake --preset "$1" 2>&1) || {
        echo "$log" >&2
        fail 4 "preset $1 cannot be configured"
    }
}

build_preset() { # PRESET TARGET ...
    local preset=$1
    shift
    local log
    log=$(cmake --build --preset "$preset" --parallel "$(nproc)" --target "$@" 2>&1) || {
        echo "$log" >&2
        fail 4 "preset $preset cannot be built"
    }
}

# Sets names, and by name max_len and kind (ops or bytes): the targets of a build.
OPS_LEN_MIN=8000 # for targets of ops: the longest list takes more than the default
declare -A max_len kind
read_target_list() { # TARGETS.TXT
    local name length what
    names=()
    while read -r name length what; do
        names+=("$name")
        if [[ $what = ops ]] && ((length < OPS_LEN_MIN)); then length=$OPS_LEN_MIN; fi
        max_len[$name]=$length
        kind[$name]=$what
    done <"$1"
}

# The same of a configured preset, and names are the wanted ones if any is.
read_targets() { # PRESET WANTED ...
    local name
    read_target_list "build/$1/fuzz/targets.txt"
    local -a all=("${names[@]}")
    shift
    if (($# > 0)); then names=("$@"); fi
    for name in "${names[@]}"; do
        if [[ ! $name =~ ^[a-z0-9_]+$ || -z ${kind[$name]:-} ]]; then
            fail 2 "there is no fuzz target '$name'; the fuzz targets are: ${all[*]}"
        fi
    done
}

# Leaves only the targets that use the subject: those of bytes would find the same whatever it is.
only_ops_targets() {
    local name
    local -a all=("${names[@]}")
    names=()
    for name in "${all[@]}"; do
        if [[ ${kind[$name]} = ops ]]; then names+=("$name"); fi
    done
    ((${#names[@]} > 0)) || fail 2 "--subject: no fuzz target uses it"
}

# Puts the seeds of a target, which are one archive, into the folder FOLDER/TARGET.  There is none where it has no
# seeds.
unpack_seeds() { # TARGET FOLDER
    rm -rf "${2:?}/$1"
    mkdir -p "$2"
    if [[ -f corpus/seeds/$1.tar.gz ]]; then tar -C "$2" -xzf "corpus/seeds/$1.tar.gz"; fi
}

# The same files give the same archive.
pack_seeds() { # FOLDER TARGET ARCHIVE
    tar -C "$1" --sort=name --owner=0 --group=0 --numeric-owner --mode=644 --mtime=@0 --format=ustar -cf - "$2" | gzip -9n >"$3"
}

# Fills a folder with what is known beside the seeds: the lists of every bug that was found, and small files of the
# field.  fuzz_input is the program of that name, from any preset.
known_inputs() { # TARGET FOLDER
    mkdir -p "$2"
    local field=corpus/field/${1#fuzz_}
    case ${kind[$1]} in
    ops)
        "$fuzz_input" from-ops "$2" corpus/regressions/*.ops corpus/field/ops/*.ops ||
            fail 4 "cannot make inputs of corpus/regressions"
        ;;
    *)
        if [[ $1 == *_ops_text ]]; then cp corpus/regressions/*.ops corpus/field/ops/*.ops "$2"; fi
        if [[ -d $field ]]; then cp "$field"/* "$2"; fi
        ;;
    esac
}

# What libFuzzer must know of a target, whoever runs it: a script here, or a fleet that reads TARGET.options
# (fuzz/build.sh).  Never len_control: a target with a mutator of its own ignores it, and the others are throttled by it.
# Without entropic=0 two thirds of the time go to libFuzzer's own book of rare features, of which an input here has
# thousands; and how often each edge is taken says little about a list of ops, so without use_counters=0 a corpus fills
# with lists that differ in nothing else.
engine_flags() { # TARGET; sets flags, each KEY=VALUE
    flags=("max_len=${max_len[$1]}" entropic=0)
    if [[ ${kind[$1]:-ops} = ops ]]; then flags+=(use_counters=0); fi
}

# What each run of libFuzzer needs here, whatever it is for.  The timeout is in wall time, so it is long: machines are
# shared.
TIMEOUT_S=120
engine_options() { # TARGET; sets options
    local -a flags
    engine_flags "$1"
    options=("${flags[@]/#/-}" "-timeout=$TIMEOUT_S" -rss_limit_mb=2560 "-report_slow_units=$TIMEOUT_S" -print_final_stats=1)
    if [[ -e fuzz/dictionaries/$1.dict ]]; then options+=("-dict=fuzz/dictionaries/$1.dict"); fi
}

# The subject in HBMSTRESS_FUZZ_TARGET must be one, and the regrets that it is held to must be known: the first program
# says so before hours are spent.
check_subject() { # PROGRAM [WHAT-SAID-THE-SUBJECT]
    local said
    said=$("$1" -runs=0 -exact_artifact_path=/dev/null 2>&1) || true
    said=$(grep -m 1 -E '^HBMSTRESS_FUZZ_(TARGET|REGRETS): ' <<<"$said") || return 0
    fail 2 "${said/#HBMSTRESS_FUZZ_TARGET:/${2:---subject}:}"
}

# Most allocators are not for several threads.  fuzz_schedule refuses such a subject: where it was not asked for by name
# it is left out, and that is told.
check_lanes() { # PROGRAM-FOLDER WANTED ...
    local said name
    local -a all=("${names[@]}")
    [[ " ${all[*]} " = *" fuzz_schedule "* ]] || return 0
    said=$("$1/fuzz_schedule" -runs=0 -exact_artifact_path=/dev/null 2>&1) || true
    said=$(grep -m 1 '^fuzz_schedule: target ' <<<"$said") || return 0
    said=${said#fuzz_schedule: }
    if (($# > 1 || ${#all[@]} == 1)); then fail 2 "--subject: $said"; fi
    echo "$script: fuzz_schedule is left out: $said"
    names=()
    for name in "${all[@]}"; do
        if [[ $name != fuzz_schedule ]]; then names+=("$name"); fi
    done
}

# Does the machinery see anything at all?  A planted defect must be found from the same seeds.
CANARY=plant_premature_undrained
CANARY_FINDS=premature
check_canary() { # PROGRAM FOLDER-FOR-ITS-FILES LOG SEED-FOLDER ...
    local program=$1 folder=$2 log=$3
    shift 3
    mkdir -p "$folder/corpus"
    engine_options fuzz_ops
    HBMSTRESS_FUZZ_TARGET=$CANARY timeout --foreground 120 "$program" "${options[@]}" -max_total_time=60 -seed=1 \
        "-artifact_prefix=$folder/" "$folder/corpus" "$@" >"$log" 2>&1 || true
    grep -q "^hbmstress: fuzz_ops found: $CANARY_FINDS" "$log" ||
        fail 4 "the canary $CANARY was not found in 60 s: this campaign proves nothing; see $log"
}

# libFuzzer's merge does not notice that it cannot write: a full disk gives empty files, or none, and exit 0.  An empty
# input is never among those that it merges.
is_merged() { # FOLDER
    [[ -n $(find "$1" -type f -print -quit) && -z $(find "$1" -type f -empty -print -quit) ]]
}

# Puts FOLDER.new in the place of FOLDER, by renaming only: whatever ends the script, one of both is whole.
swap_in() { # FOLDER
    rm -rf "$1.old"
    if [[ -e $1 ]]; then mv "$1" "$1.old"; fi
    mv "$1.new" "$1"
    rm -rf "$1.old"
}

# Takes back what a swap that was cut short has left.
take_back() { # FOLDER
    if [[ ! -e $1 && -d $1.old ]]; then mv "$1.old" "$1"; fi
    rm -rf "$1.new" "$1.old"
}

# What ended a run, from its output: the signature that hbmstress gave it, the CHECK of ours that failed, or what the
# sanitizer or the engine sums up, without places.  Nothing when nothing did.
signature_of() { # LOG
    awk '
        /^hbmstress: [a-z_]+ found: / && !found { found = $0; sub(/^[^:]*: [a-z_]+ found: /, "", found)
                                                  sub(/ \(rule [a-z_]+, op [0-9]+\)$/, "", found) }
        /^hbmstress: internal error: / && !check { check = $0; sub(/.*internal error: [^ ]*\//, "CHECK ", check) }
        /SUMMARY: / && !summary {
            summary = $0
            sub(/.*SUMMARY: /, "", summary)
            # Of undefined behaviour nothing but the place is told.
            if (summary ~ /UndefinedBehavior/) gsub(/ [^ ]*\//, " ", summary)
            gsub(/ [^ ]*\/[^ ]*/, "", summary)
            sub(/ in *$/, "", summary)
            gsub(/0x[0-9a-f]+|[0-9]+ byte\(s\)/, "N", summary)
        }
        END { print found != "" ? found : check != "" ? check : summary }' "$1"
}

# Plays one input and prints its signature; nothing when it breaks nothing.  A program that dies without a word is told
# by its exit status.
play() { # PROGRAM INPUT LOG [SECONDS]
    local status=0 signature
    timeout --foreground "${4:-$TIMEOUT_S}" "$1" -rss_limit_mb=2560 "$2" >"$3" 2>&1 || status=$?
    case $status in
    0) ;;
    124) echo "timeout" ;;
    *)
        signature=$(signature_of "$3")
        echo "${signature:-exit status $status}"
        ;;
    esac
}

# Takes the inputs that ended runs, names each by what it breaks, keeps the shortest of each signature, has its list
# shrunk and written down, and tells how to repeat it.  found: signatures with their counts; proofs are files in FOLDER.
declare -A found=() found_input=()
triage() { # TARGET PROGRAM FOLDER INPUT ...
    local target=$1 program=$2 folder=$3 input signature key
    shift 3
    found=() found_input=()
    for input in "$@"; do
        signature=$(play "$program" "$input" "$folder/played.log") || true
        # It was slow when it had to share the machine, and that is all.
        if [[ -z $signature && (${input##*/} == timeout-* || $input == */hangs/*) ]]; then continue; fi
        key=$target${signature:+ found: $signature}
        if [[ -z $signature ]]; then key="$target: ended a run, but does not do so when it is played alone"; fi
        found[$key]=$((${found[$key]:-0} + 1))
        if [[ -z ${found_input[$key]:-} || $(stat -c %s "$input") -lt $(stat -c %s "${found_input[$key]}") ]]; then
            found_input[$key]=$input
        fi
    done
    rm -f "$folder/played.log"
}

# One word for a shell, in single quotes where it needs them, as hbmstress prints its own (harness/base/shell.h).
shell_word() { # TEXT
    local LC_ALL=C quote="'\\''"
    if [[ $1 =~ ^[A-Za-z0-9_@%+=:,./-]+$ ]]; then
        printf '%s' "$1"
    else
        printf "'%s'" "${1//\'/$quote}"
    fi
}

# One finding of triage(), shrunk, if need be by the same program without sanitizers: prints it, and sets repro and
# proof (empty where there is none).
tell_finding() { # KEY PROGRAM FOLDER [WITHOUT-SANITIZERS]
    local input=${found_input[$1]} log=$3/told.log repeat
    : >"$log"
    # What never ends cannot be shrunk.
    if [[ $1 != *timeout ]]; then HBMSTRESS_FUZZ_OUT=$3 play "$2" "$input" "$log" 900 >/dev/null; fi
    # Another defect may stop the shrinking, where sanitizers are.
    if [[ -n ${4:-} && $1 != *timeout ]] && grep -q " found: " <<<"$1" && ! grep -q "^repro:  " "$log"; then
        HBMSTRESS_FUZZ_OUT=$3 play "$4" "$input" "$log" 900 >/dev/null
    fi
    repro=$(sed -n 's/^repro:  //p' "$log" | head -n 1)
    proof=$(sed -n 's/^proof:  //p' "$log" | head -n 1)
    repeat=$(sed -n 's/^repeat: \(hbmstress replay\)/\1/p' "$log" | head -n 1)
    if [[ -z $repeat || -z $repro ]]; then
        repeat="$(shell_word "$2") $(shell_word "$input")"
        if [[ -n ${HBMSTRESS_FUZZ_TARGET:-} ]]; then
            repeat="HBMSTRESS_FUZZ_TARGET=$(shell_word "$HBMSTRESS_FUZZ_TARGET") $repeat"
        fi
    fi
    printf '%s (%d times)\n  input   %s\n' "$1" "${found[$1]}" "$input"
    if [[ -n $repro ]]; then printf '  repro   %s\n' "$repro"; fi
    if [[ -n $proof ]]; then printf '  proof   %s\n' "$proof"; fi
    printf '  repeat  %s\n' "$repeat"
    rm -f "$log"
}
