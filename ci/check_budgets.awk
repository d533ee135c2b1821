# Reads names of source files on standard input and holds their sizes against the lines of ci/budgets.txt, which names the
# forms of these lines.  Plain awk: a bare Debian has mawk.
#
#     awk -v budgets=ci/budgets.txt -v mode=check|table|lower -f ci/check_budgets.awk
#
# check prints the breaches.  table prints the rooms before them.  lower prints the file of budgets with today's sizes
# where these are smaller, and without exceptions that nothing needs.

BEGIN {
    read_budgets()
    while ((getline file) > 0) {
        measure(file)
    }
    if (mode == "lower") {
        print_lowered()
        exit 0
    }
    if (mode == "table") {
        print_table()
    }
    check_rooms()
    check_sizes()
    exit breach_count > 0
}

function breach(text)
{
    print text
    breach_count++
}

# --- the file of budgets ---

function read_budgets(    line, number, word, count)
{
    while ((getline line < budgets) > 0) {
        text_of[++line_count] = line
        number = budgets ":" line_count ": "
        count = split(line, word, " ")
        if (count == 0 || word[1] ~ /^#/) {
            continue
        }
        kind_of[line_count] = word[1]
        if (word[1] == "limit" && count == 3 && is_count(word[3]) && word[2] ~ /^(file|folder)$/) {
            limit[word[2]] = word[3] + 0
        } else if (word[1] == "room" && count > 5 && is_count(word[3]) && is_count(word[4]) && is_count(word[5])) {
            read_room(number, word)
        } else if ((word[1] == "file" || word[1] == "folder") && count > 3 && is_count(word[3])) {
            exception[word[1], word[2]] = word[3] + 0
            name_at[line_count] = word[2]
        } else {
            breach(number "not a limit, a room with two numbers of lines, a number of files and a reason, or a file or a " \
                   "folder with a number and a reason")
        }
    }
    close(budgets)
    if (limit["file"] == 0 || limit["folder"] == 0) {
        breach(budgets ": no limit of a file or of a folder")
    }
}

function is_count(text)
{
    return text ~ /^[0-9]+$/
}

function read_room(number, word,    i, path, count)
{
    room_count++
    room_at[line_count] = room_count
    paths[room_count] = word[2]
    budget[room_count] = word[3] + 0
    aim[room_count] = word[4] + 0
    file_budget[room_count] = word[5] + 0
    count = split(word[2], path, ",")
    for (i = 1; i <= count; i++) {
        if (path[i] in room_of) {
            breach(number path[i] " has a room already")
        }
        room_of[path[i]] = room_count
    }
}

# The room of the longest path that the file is, or lies in; 0: it has none.
function find_room(path)
{
    while (!(path in room_of)) {
        if (!sub(/\/[^\/]*$/, "", path)) {
            return 0
        }
    }
    return room_of[path]
}

# --- sizes ---

function measure(file,    line, room, count, folder, in_comment, is_header, is_counted)
{
    room = find_room(file)
    folder = file
    sub(/\/[^\/]*$/, "", folder)
    is_counted = file ~ /\.[ch]$/
    is_header = file ~ /\.h$/
    while ((getline line < file) > 0) {
        count++
        gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
        sub(/^[ \t\r]+/, "", line)
        if (in_comment || line ~ /^\/[*\/]/) {
            comment[room]++
            header_comment_count += is_header
        } else if (line != "") {
            code[room]++
            header_function_count += is_header && line ~ /^[A-Za-z_][A-Za-z0-9_ *]*[ *][a-z0-9_]+\(/
        }
        in_comment = is_left_open(line, in_comment)
    }
    close(file)
    lines[room] += count
    lines_of[file] = count + 0
    file_at[++file_count] = file
    files[room] += is_counted
    if (!(folder in files_in)) {
        folder_at[++folder_count] = folder
    }
    files_in[folder] += is_counted
    if (count > largest[room]) {
        largest[room] = count
    }
    if (room == 0) {
        sub(/\/.*/, "", folder)
        roomless[folder]++
    }
}

# Whether a comment goes on behind the line.
function is_left_open(line, in_comment)
{
    while (line != "") {
        if (in_comment) {
            if (!match(line, /\*\//)) {
                return 1
            }
        } else if (!match(line, /\/[*\/]/) || substr(line, RSTART, 2) == "//") {
            return 0
        }
        line = substr(line, RSTART + 2)
        in_comment = !in_comment
    }
    return in_comment
}

# --- what is found ---

function check_rooms(    room, folder)
{
    for (folder in roomless) {
        breach(folder "/: no room in " budgets ", and " roomless[folder] " source files")
    }
    for (room = 1; room <= room_count; room++) {
        if (lines[room] > budget[room]) {
            breach(paths[room] ": " lines[room] " lines, and the budget is " budget[room])
        }
        if (files[room] > file_budget[room]) {
            breach(paths[room] ": " files[room] " files of .c and .h, and the budget is " file_budget[room])
        }
    }
}

# The tests are held to the budget of their room alone.
function check_size(what, name, unit,    most)
{
    most = (what, name) in exception ? exception[what, name] : limit[what]
    if (name !~ /^tests(\/|$)/ && size_of(what, name) > most) {
        breach(name ": " size_of(what, name) " " unit ", and the limit is " most)
    }
}

function check_sizes(    i)
{
    for (i = 1; i <= file_count; i++) {
        check_size("file", file_at[i], "lines")
    }
    for (i = 1; i <= folder_count; i++) {
        check_size("folder", folder_at[i], "files of .c and .h")
    }
    for (i = 1; i <= line_count; i++) {
        if (i in name_at && !is_needed(kind_of[i], name_at[i])) {
            breach(budgets ":" i ": nothing needs this line: " name_at[i] " is gone or within the limit of " \
                   limit[kind_of[i]] " (ci/check-floors --lower)")
        }
    }
}

function size_of(what, name)
{
    return what == "file" ? lines_of[name] + 0 : files_in[name] + 0
}

function is_needed(what, name)
{
    return size_of(what, name) > limit[what]
}

# --- what is printed ---

function print_row(all, most, goal, of_code, of_comment, count, count_most, longest, name)
{
    printf "%7s %7s %7s %7s %7s %9s %7s  %s\n", all, most, goal, of_code, of_comment, count "/" count_most, longest, name
}

function print_table(    room, sum_lines, sum_budget, sum_aim, sum_code, sum_comment, sum_files, sum_most, longest, name)
{
    print_row("lines", "budget", "aim", "code", "comment", "files", "most", "largest", "room")
    for (room = 1; room <= room_count; room++) {
        name = paths[room]
        gsub(/,/, " ", name)
        print_row(lines[room] + 0, budget[room], aim[room], code[room] + 0, comment[room] + 0, files[room] + 0,
                  file_budget[room], largest[room] + 0, name)
        if (paths[room] == "tests") {
            continue
        }
        sum_lines += lines[room]
        sum_budget += budget[room]
        sum_aim += aim[room]
        sum_code += code[room]
        sum_comment += comment[room]
        sum_files += files[room]
        sum_most += file_budget[room]
        longest = largest[room] > longest ? largest[room] : longest
    }
    print_row(sum_lines, sum_budget, sum_aim, sum_code, sum_comment, sum_files, sum_most, longest, "all but tests")
    print "Headers, those of tests too: " header_comment_count " lines of comment, " header_function_count " functions."
    print_exceptions("file", "lines")
    print_exceptions("folder", "files of .c and .h")
}

function print_exceptions(what, unit,    i, name)
{
    print "Above " limit[what] " " unit " a " what ":"
    for (i = 1; i <= line_count; i++) {
        if (kind_of[i] == what) {
            name = name_at[i]
            printf "%7s %7s  %s\n", size_of(what, name), exception[what, name], name
        }
    }
}

function print_lowered(    i, word, reason, room, least)
{
    for (i = 1; i <= line_count; i++) {
        split(text_of[i], word, " ")
        reason = text_of[i]
        if (kind_of[i] == "room") {
            sub(/^[ \t]*([^ \t]+[ \t]+)([^ \t]+[ \t]+)([^ \t]+[ \t]+)([^ \t]+[ \t]+)([^ \t]+[ \t]+)/, "", reason)
            room = room_at[i]
            printf "room   %-56s %6d %6d %5d  %s\n", word[2], smaller(budget[room], lines[room]), aim[room],
                   smaller(file_budget[room], files[room]), reason
        } else if (kind_of[i] == "file" || kind_of[i] == "folder") {
            sub(/^[ \t]*([^ \t]+[ \t]+)([^ \t]+[ \t]+)([^ \t]+[ \t]+)/, "", reason)
            least = smaller(word[3] + 0, size_of(kind_of[i], word[2]))
            if (is_needed(kind_of[i], word[2])) {
                printf "%-6s %-56s %6d  %s\n", word[1], word[2], least, reason
            }
        } else {
            print text_of[i]
        }
    }
}

function smaller(a, b)
{
    return b < a ? b + 0 : a + 0
}
