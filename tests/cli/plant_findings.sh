#!/usr/bin/env bash
# How many findings each planted defect comes to: one, or the reason why more is in docs/campaigns.md.
#
#     plant_findings.sh HBMSTRESS [OPS] [SEED]
#
# Each plant is run in all scenarios, for so many ops in each (default 3000) with one seed (default 1).  One line for each:
# plant, number of findings, signatures.  Fails when a plant has more than its row of `allowed`, or dies of our own fault.
set -u
hbmstress=$1
ops=${2:-3000}
seed=${3:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The plants with more than one, and how many: docs/campaigns.md, "Several findings for one defect", says why.
allowed() { # PLANT
    case $1 in
    plant_premature_unretried) echo 3 ;;
    plant_classes_leaking | plant_one_host_leaking | plant_premature_starving | plant_premature_aborted) echo 3 ;;
    plant_too_large*) echo 6 ;;
    plant_buddy_unmerged | plant_buddy_late) echo 6 ;;
    plant_stream_forgets | plant_stream_stuck | plant_record_undropped) echo 6 ;;
    plant_paged_neighbours | plant_paged_leaking | plant_hidden_leaking) echo 4 ;;
    plant_stream_uses) echo 3 ;;
    plant_relation_names | plant_premature_rounded | plant_premature_last_hole | plant_premature_at_align | plant_premature_at_size | plant_failed_row | plant_message | plant_misaligned | plant_contents_scribble) echo 2 ;;
    *) echo 1 ;;
    esac
}

failures=0
for plant in $("$hbmstress" list plants --json | sed -n 's/.*"name":"\(plant_[a-z_]*\)".*/\1/p'); do
    "$hbmstress" run --target "$plant" --seed "$seed" --ops "$ops" --out "$work/out" >"$work/out.txt" 2>"$work/err.txt"
    code=$?
    signatures=$(sed -z 's/\n  */ /g' "$work/out.txt" | sed -n 's/^finding [0-9]*: \(.*\): seen [0-9]* times.*/\1/p')
    count=$(printf '%s' "$signatures" | grep -c .)
    printf '%-36s %d  %s\n' "$plant" "$count" "$(printf '%s' "$signatures" | paste -sd '|' | sed 's/|/ | /g')"
    if [ "$code" -gt 1 ]; then
        echo "FAILED: $plant: exit $code: $(head -c 300 "$work/err.txt")" >&2
        failures=$((failures + 1))
    elif [ "$count" -gt "$(allowed "$plant")" ]; then
        echo "FAILED: $plant: $count findings, $(allowed "$plant") are accounted for" >&2
        failures=$((failures + 1))
    fi
    rm -rf "$work/out"
done
[ "$failures" = 0 ]
