# Reads names of C files on standard input, checks each, prints breaches.  Plain awk: a bare Debian has mawk.

BEGIN {
    allowed["allocator"] = "allocator"
    allowed["explore"] = "explore"
    allowed["harness"] = "harness explore"
    allowed["checker"] = "checker"
    allowed["targets"] = "targets harness allocator"
    allowed["scenarios"] = "scenarios harness"
    allowed["formats"] = "formats harness"
    allowed["reports"] = "reports harness"
    allowed["diagnosis"] = "diagnosis harness"
    allowed["cli"] = "cli explore harness checker targets scenarios formats reports diagnosis"
    allowed["fuzz"] = "fuzz explore harness checker targets scenarios formats reports diagnosis"
    allowed["bench"] = "bench explore harness checker targets scenarios formats reports diagnosis"
    allowed["tests"] = "tests cli fuzz bench allocator explore harness checker targets scenarios formats reports diagnosis"
    # The names under which two folders are installed.
    installed["hbm"] = "allocator"
    installed["hbmstress"] = "harness"
    while ((getline file) > 0) {
        check_file(file)
        file_count++
    }
    if (file_count == 0) {
        print "check-floors: there is no C file to check"
        breach_count++
    }
    exit breach_count > 0
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
            check_floor(file, folder, line_number, path, installed[top])
        }
        return
    }
    if (!(top in allowed) || path ~ /(^|\/)\.\.?\//) {
        breach(file, line_number, "\"" path "\" is not written from the root of the tree")
        return
    }
    if (!exists(path)) {
        breach(file, line_number, "\"" path "\" does not exist")
    }
    check_floor(file, folder, line_number, path, top)
}

function check_floor(file, folder, line_number, path, top)
{
    if (index(" " allowed[folder] " ", " " top " ") == 0) {
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
