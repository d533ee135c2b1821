# Reads names of C files on standard input, checks each, prints breaches.  Plain awk: a bare Debian has mawk.

BEGIN {
    allowed["allocator"] = "allocator"
    allowed["explore"] = "explore"
    allowed["harness"] = "harness explore"
    allowed["kit"] = "kit"
    allowed["checker"] = "checker"
    allowed["targets"] = "targets kit harness allocator"
    allowed["scenarios"] = "scenarios harness"
    allowed["formats"] = "formats harness"
    allowed["present"] = "present harness"
    allowed["diagnosis"] = "diagnosis harness"
    allowed["measure"] = "measure harness"
    below = "explore harness checker targets scenarios formats present diagnosis measure"
    allowed["campaign"] = "campaign " below
    # What stands on a campaign and below the program: each knows its options as a struct, and none of its neighbours.
    below = "campaign " below
    allowed["infer"] = "infer " below
    below = "infer " below
    allowed["recording"] = "recording " below
    below = "recording " below
    engines = "replay explain ladder pod doctor bug page"
    engine_count = split(engines, engine, " ")
    for (i = 1; i <= engine_count; i++) {
        allowed[engine[i]] = engine[i] " " below
    }
    allowed["cli"] = "cli " engines " " below
    allowed["fuzz"] = "fuzz " below
    allowed["bench"] = "bench " below
    allowed["tests"] = "tests kit cli fuzz bench allocator " engines " " below
    # Rooms inside a folder, and their floors: a room may include itself, what lies in it, and rooms of its folder that
    # stand lower.  What lies at the top of such a folder is for all of them.
    set_floors("harness/base 0 harness/op 1 harness/device 2 harness/model 3 harness/generate 4 " \
               "harness/oracle/packing 1 harness/oracle 4 harness/call 5 harness/rules 6 harness/run 7 " \
               "harness/lanes 8 harness/trial 9 harness/shrink 10 harness/sweep 10 " \
               "campaign/base 0 campaign/process 1 campaign/plan 2 campaign/trials 3 campaign/engine 4 campaign/sweep 5")
    # The top of formats/ is its registry, which stands above all rooms.
    set_floors("formats/common 0 formats/log 1 formats/xla 1 formats/bfc 1 formats/torch 1 formats/profile 1 formats/counters 1 " \
               "formats/generic 1 formats/export 1 formats 2")
    set_floors("fuzz 0 fuzz/hbm_calls 1 fuzz/mutate 1 fuzz/targets 2")
    set_floors("explore 0 explore/strategies 1 explore/pthreads 1")
    set_floors("cli 0 cli/manual 1")
    set_floors("present 0 present/page 1")
    set_floors("ladder 0 ladder/scale 1 ladder/versus 1 ladder/budget 1")
    # By name, and for what lies below them alone: they play libhbm by libhbm's own interface.
    excepted["fuzz/hbm_calls/"] = "allocator"
    excepted["bench/peers/"] = "allocator"
    # The names under which folders and files are installed.
    installed["hbm"] = "allocator"
    installed["hbmstress"] = "harness"
    installed["hbmstress/kit.h"] = "kit"
    # The one file above its floor that a folder may include.
    named["kit"] = "harness/target.h"
    while ((getline file) > 0) {
        check_file(file)
        file_count++
    }
    if (file_count == 0) {
        print "check-floors: there is no C file to check"
        breach_count++
    }
    check_cycles()
    exit breach_count > 0
}

function set_floors(text,    word, count, i)
{
    count = split(text, word, " ")
    for (i = 1; i < count; i += 2) {
        floor_of[word[i]] = word[i + 1]
    }
}

# The innermost room that the file lies in, or "" at the top of its folder.
function room_of(path)
{
    while (path ~ /\//) {
        sub(/\/[^\/]*$/, "", path)
        if (path in floor_of) {
            return path
        }
    }
    return ""
}

function breach(file, line_number, text)
{
    print file ":" line_number ": " text
    breach_count++
}

function check_file(file,    folder, line, line_number)
{
    folder = substr(file, 1, index(file, "/") - 1)
    in_comment = 0
    line_number = 0
    while ((getline line < file) > 0) {
        line_number++
        split_line(line)
        if (with_strings ~ /^[ \t]*#[ \t]*include/) {
            check_include(file, folder, line_number, with_strings)
        }
        if (folder == "harness" && names_an_allocator(without_strings)) {
            breach(file, line_number, "harness/ knows no allocator by name")
        }
    }
    close(file)
    if (file ~ /\.h$/) {
        check_opening(file)
    }
}

# Sets with_strings to the line without its comments, and without_strings to that with strings emptied.
function split_line(line,    i, two, one, quote)
{
    with_strings = ""
    without_strings = ""
    quote = ""
    for (i = 1; i <= length(line); i++) {
        one = substr(line, i, 1)
        two = substr(line, i, 2)
        if (in_comment) {
            if (two == "*/") { in_comment = 0; i++ }
            continue
        }
        if (quote != "") {
            with_strings = with_strings one
            if (one == "\\") { i++; with_strings = with_strings substr(line, i, 1) }
            else if (one == quote) { quote = ""; without_strings = without_strings one }
            continue
        }
        if (two == "/*") { in_comment = 1; i++; continue }
        if (two == "//") { return }
        if (one == "\"" || one == "'") { quote = one }
        with_strings = with_strings one
        without_strings = without_strings one
    }
}

function names_an_allocator(code)
{
    return code ~ /(^|[^A-Za-z0-9_])(hbm_|HBM_)[A-Za-z0-9_]/ || code ~ /struct[ \t]+hbm([^A-Za-z0-9_]|$)/
}

function check_include(file, folder, line_number, line,    path, top, is_quoted)
{
    if (match(line, /"[^"]*"/)) {
        is_quoted = 1
    } else if (!match(line, /<[^>]*>/)) {
        breach(file, line_number, "an include must name its file, not a macro")
        return
    }
    path = substr(line, RSTART + 1, RLENGTH - 2)
    top = index(path, "/") ? substr(path, 1, index(path, "/") - 1) : ""
    if (!is_quoted) {
        if (top in allowed) {
            breach(file, line_number, "<" path "> is ours: write it in quotes, from the root")
        } else if (top in installed) {
            check_floor(file, folder, line_number, path, path in installed ? installed[path] : installed[top])
        }
        return
    }
    if (!(top in allowed) || path ~ /(^|\/)\.\.?\//) {
        breach(file, line_number, "\"" path "\" is not written from the root of the tree")
        return
    }
    if (path == file) {
        breach(file, line_number, "a file that includes itself")
        return
    }
    if (!exists(path)) {
        breach(file, line_number, "\"" path "\" does not exist")
    }
    check_floor(file, folder, line_number, path, top)
    check_room(file, folder, line_number, path, top)
    note_edge(file, path, line_number)
}

function check_room(file, folder, line_number, path, top,    from, to, owner)
{
    owner = path
    if (sub(/private\/.*/, "", owner) && folder != "tests" && index(file, owner) != 1) {
        breach(file, line_number, "\"" path "\" is for " owner " alone")
        return
    }
    from = room_of(file)
    to = room_of(path)
    if (top != folder || to == "" || to == from || index(to, from "/") == 1) {
        return
    }
    if (from == "" || floor_of[to] >= floor_of[from]) {
        breach(file, line_number, (from == "" ? folder : from) "/ may not include " to "/ (" path ")")
    }
}

# --- cycles, with x.c and x.h as one ---

function note_edge(file, path, line_number,    from, to)
{
    from = file
    to = path
    sub(/\.[ch]$/, "", from)
    sub(/\.[ch]$/, "", to)
    gsub(/private\//, "", from)
    gsub(/private\//, "", to)
    if (from != to && !((from, to) in edge)) {
        edge[from, to] = file ":" line_number
        goes_out[from]++
        comes_in[to]++
        targets_of[from] = targets_of[from] " " to
        sources_of[to] = sources_of[to] " " from
        is_unit[from] = is_unit[to] = 1
    }
}

# Takes away what nothing comes into or goes out of, until nothing changes: the rest stands in a cycle, or between two.
function check_cycles(    unit, has_changed, pair, word)
{
    do {
        has_changed = 0
        for (unit in is_unit) {
            if (goes_out[unit] == 0 || comes_in[unit] == 0) {
                remove_unit(unit)
                has_changed = 1
            }
        }
    } while (has_changed)
    for (pair in edge) {
        split(pair, word, SUBSEP)
        if (word[1] in is_unit && word[2] in is_unit && reaches(word[2], word[1])) {
            print edge[pair] ": part of a cycle of includes, with x.c and x.h as one: " word[1] " -> " word[2]
            breach_count++
        }
    }
}

function reaches(from, to,    queue, head, tail, is_seen, next_unit, count, i)
{
    queue[tail++] = from
    is_seen[from] = 1
    while (head < tail) {
        from = queue[head++]
        if (from == to) {
            return 1
        }
        count = split(targets_of[from], next_unit, " ")
        for (i = 1; i <= count; i++) {
            if (!(next_unit[i] in is_seen)) {
                is_seen[next_unit[i]] = 1
                queue[tail++] = next_unit[i]
            }
        }
    }
    return 0
}

function remove_unit(unit,    word, count, i)
{
    count = split(targets_of[unit], word, " ")
    for (i = 1; i <= count; i++) {
        comes_in[word[i]] -= (word[i] in is_unit)
    }
    count = split(sources_of[unit], word, " ")
    for (i = 1; i <= count; i++) {
        goes_out[word[i]] -= (word[i] in is_unit)
    }
    delete is_unit[unit]
}

function is_excepted(file, top,    room)
{
    for (room in excepted) {
        if (index(file, room) == 1 && excepted[room] == top) {
            return 1
        }
    }
    return 0
}

function check_floor(file, folder, line_number, path, top)
{
    if (path != named[folder] && !is_excepted(file, top) && index(" " allowed[folder] " ", " " top " ") == 0) {
        breach(file, line_number, folder "/ may not include " top "/ (" path ")")
    }
}

function exists(path,    line, result)
{
    result = (getline line < path) >= 0
    close(path)
    return result
}

# A header begins with a comment whose first sentence says what it is for: four words or more, a full stop.
function check_opening(file,    line, text, line_number, is_done)
{
    text = ""
    while (!is_done && (getline line < file) > 0) {
        line_number++
        if (line_number == 1 && line !~ /^\/[*\/]/) {
            break
        }
        is_done = line ~ /\*\// || (line_number > 1 && text !~ /^\/\*/ && line !~ /^\/\//)
        text = text " " line
        sub(/^ +/, "", text)
    }
    close(file)
    gsub(/\/\*+|\*\/|\/\/|(^| )\*( |$)/, " ", text)
    if (text !~ /^ *([^ .]+ +)([^ ]+ +)([^ ]+ +)+[^ ]*[.:]( |$)/) {
        breach(file, 1, "a header begins with a comment: one sentence that says what the file is for")
    }
}
