# Reads corpus/uncovered.txt and then what llvm-cov exports as lcov, and prints lines by file, by folder and by promised
# part.  With check=yes it exits with 1 when a part has less than it should, when something that nothing reaches is not
# listed with a reason, and when the list names a function that is not there.  Plain awk: a bare Debian has mawk.
# Variables: root, lists_lines, check, and parts: "PART:FILE ..." for each promised file.

BEGIN {
    PERCENT_MIN = 95
    pair_count = split(parts, pair, " ")
    for (i = 1; i <= pair_count; i++) {
        split(pair[i], word, ":")
        part_of[word[2]] = word[1]
        if (!(word[1] in is_part)) { is_part[word[1]] = 1; part_name[++part_count] = word[1] }
    }
}

# --- the list: FILE FUNCTION REASON ---

FILENAME ~ /uncovered\.txt$/ {
    if ($0 ~ /^[ \t]*(#|$)/) next
    if (NF < 3 || !($1 in part_of)) { wrong(FILENAME ":" FNR ": no promised file, no function, or no reason"); next }
    listed[$1 " " $2] = FNR
    listed_order[++listed_count] = $1 " " $2
    next
}

# --- lcov ---

/^SF:/ {
    file = substr($0, 4)
    if (index(file, root) == 1) file = substr(file, length(root) + 1)
    sub(/^.*\.\.\//, "", file)
    folder = file; sub(/\/.*/, "", folder)
    is_counted = folder ~ /^(allocator|harness|formats)$/
    part = file in part_of ? "part " part_of[file] : ""
    if (is_counted && !(file in all)) order[++files] = file
    function_count = 0
    for (i in known) delete known[i]
}
/^FN:/ && is_counted {
    split(substr($0, 4), field, ",")
    name = field[2]; sub(/^.*:/, "", name)
    exists[file " " name] = 1
    if (!(name in known)) { known[name] = 1; start[++function_count] = field[1] + 0; start_name[function_count] = name }
}
/^DA:/ && is_counted {
    split(substr($0, 4), field, ",")
    count_line(file, field[2]); count_line(folder, field[2]); count_line("all", field[2])
    if (part != "") count_line(part, field[2])
    if (field[2] > 0) { end_gap(); next }
    if (!gap_first) gap_first = field[1]
    gap_last = field[1]
    if (part == "") next
    key = file " " function_at(field[1] + 0)
    if (!(key in missed)) missed_order[++missed_count] = key
    missed[key]++
}
/^end_of_record/ && is_counted { end_gap() }

END {
    for (i = 1; i <= files; i++) {
        print show(order[i], order[i])
        if (lists_lines == "yes") printf "%s", gaps[order[i]]
    }
    print ""
    for (i = split("allocator harness formats", name_of, " "); i >= 1; i--) if (all[name_of[i]]) print show(name_of[i] "/", name_of[i])
    print show("all", "all")
    print ""
    for (i = 1; i <= part_count; i++) print show("promised: " part_name[i], "part " part_name[i])
    if (check != "yes") exit 0
    for (i = 1; i <= part_count; i++)
        if (100 * hit["part " part_name[i]] < PERCENT_MIN * all["part " part_name[i]] || !all["part " part_name[i]])
            wrong(part_name[i] ": less than " PERCENT_MIN " % of its lines")
    for (i = 1; i <= pair_count; i++) {
        split(pair[i], word, ":")
        if (word[2] ~ /\.c$/ && !(word[2] in all)) wrong(word[2] ": in no fuzz target")
    }
    for (i = 1; i <= missed_count; i++) {
        key = missed_order[i]
        if (!(key in listed)) wrong(key ": " missed[key] " lines that nothing reaches, and no reason in corpus/uncovered.txt")
    }
    for (i = 1; i <= listed_count; i++) {
        key = listed_order[i]
        if (!(key in exists) && key !~ / -$/) wrong("corpus/uncovered.txt:" listed[key] ": there is no function " key)
        else if (!(key in missed)) print "corpus/uncovered.txt:" listed[key] ": " key " is reached whole, and may go"
    }
    exit wrong_count > 0
}

function wrong(text) { wrongs[++wrong_count] = text; print text }

function count_line(what, hits) { all[what]++; if (hits > 0) hit[what]++ }

function show(name, of)
{
    return sprintf("%-44s %6d of %6d lines  %5.1f %%", name, hit[of], all[of], all[of] ? 100 * hit[of] / all[of] : 0)
}

function end_gap()
{
    if (gap_first) gaps[file] = gaps[file] sprintf("  %s:%d-%d\n", file, gap_first, gap_last)
    gap_first = 0
}

# The function that begins last before the line; "-" for a macro above all.
function function_at(line,    k, best)
{
    best = 0
    for (k = 1; k <= function_count; k++) if (start[k] <= line && (best == 0 || start[k] > start[best])) best = k
    return best == 0 ? "-" : start_name[best]
}
