#include "cli/manual/pages.h"

#include "cli/subcommands.h"
#include "formats/export/export.h"

#include <string.h>

/* A shell's offers for an argument of that name: words, "@KIND" of hbmstress list, "@files" and
 * "@directories".  A comma first: several of them with commas between. */
struct completion_source {
    const char *argument, *words;
};
static const struct completion_source sources[] = {
    {"CHIP", "@chips"},
    {"DIR", "@directories"},
    {"DIR|FILE", "@files"},
    {"FAULTS", ", none all retire @faults"},
    {"FILE", "@files"},
    {"FILE.ops", "@files"},
    {"FILE|DIR", "@files"},
    {"FINDING", "@files"},
    {"FORMAT", "auto @formats"},
    {"JOB", "@jobs @files"},
    {"LIST.ops", "@files"},
    {"NAME|FILE.so", "@targets @plants @files"},
    {"OUT", "@directories"},
    {"PATH", "@files"},
    {"SCENARIO", "@scenarios"},
    {"STRATEGY[=N]", "@strategies"},
    {"TARGET", "@targets @plants @files"},
};

/* Words with | between them, without brackets around them. */
static void append_alternatives(struct writing *text, const char *words, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        writing_append_bytes(text, words[i] == '|' ? " " : &words[i], 1);
    }
}

static void append_exporters(struct writing *text)
{
    for (size_t i = 0; exporters[i] != NULL; i++) {
        writing_append_format(text, "%s%s", i == 0 ? "" : " ", exporters[i]->name);
    }
}

/* Appends the offers for an argument of that name; nothing where the table does not know it. */
static void append_source(struct writing *text, const char *argument)
{
    if (strcmp(argument, "KIND") == 0) {
        writing_append(text, "ops ");
        append_exporters(text);
        return;
    }
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        if (strcmp(sources[i].argument, argument) == 0) {
            writing_append(text, sources[i].words);
            return;
        }
    }
    if (strchr(argument, '|') != NULL &&
        strspn(argument, "abcdefghijklmnopqrstuvwxyz+|") == strlen(argument)) {
        append_alternatives(text, argument, strlen(argument));
    }
}

/* Appends the offers for a word that is no option. */
static void append_word_source(struct writing *text, const struct subcommand *subcommand)
{
    if (subcommand->word_count_max > 0) {
        append_source(text, subcommand->word_name);
    }
}

static void append_subcommand_names(struct writing *text)
{
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++) {
        writing_append_format(text, "%s ", subcommands[i]->name);
    }
}

static const char list_function[] =
    "# The names of one kind, each on a line.\n"
    "_hbmstress_list() {\n"
    "    command hbmstress list \"$1\" 2>/dev/null | sed -n '/^[a-z]/{s/^[a-z]* *//;s/  .*//;p;}'\n"
    "}\n\n";

/* --- bash --- */

static void append_bash_option_names(struct writing *text, const struct subcommand *subcommand)
{
    const struct option_row *options[ARGUMENTS_ROW_COUNT_MAX];
    const size_t count = arguments_options(subcommand, options);
    writing_append_format(text, "    %s) echo '", subcommand->name);
    for (size_t i = 0; i < count; i++) {
        writing_append_format(text, "%s%s", i == 0 ? "" : " ", options[i]->name);
    }
    writing_append(text, "' ;;\n");
}

static void append_bash_sources(struct writing *text, const struct subcommand *subcommand)
{
    const struct option_row *options[ARGUMENTS_ROW_COUNT_MAX];
    const size_t count = arguments_options(subcommand, options);
    for (size_t i = 0; i < count; i++) {
        if (options[i]->argument == NULL) {
            continue;
        }
        writing_append_format(text, "    '%s %s'", subcommand->name, options[i]->name);
        if (options[i]->alias != NULL) {
            writing_append_format(text, " | '%s %s'", subcommand->name, options[i]->alias);
        }
        writing_append(text, ") echo '");
        append_source(text, options[i]->argument);
        writing_append(text, "' ;;\n");
    }
    writing_append_format(text, "    '%s ') echo '", subcommand->name);
    append_word_source(text, subcommand);
    writing_append(text, "' ;;\n");
}

/* "=" is a word of its own where COMP_WORDBREAKS has it, as by default. */
static const char bash_main[] =
    "# Adds the lines of standard input that begin with $current.\n"
    "_hbmstress_take() {\n"
    "    local name\n"
    "    while IFS= read -r name; do\n"
    "        if [[ $name == \"$current\"* ]]; then COMPREPLY+=(\"$before$name\"); fi\n"
    "    done\n"
    "}\n\n"
    "_hbmstress() {\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} previous='' before='' subcommand name source\n"
    "    local -a names\n"
    "    COMPREPLY=()\n"
    "    if ((COMP_CWORD <= 1)); then\n"
    "        _hbmstress_take < <(printf '%s\\n' $(_hbmstress_subcommands) help --help --version)\n"
    "        return\n"
    "    fi\n"
    "    subcommand=${COMP_WORDS[1]}\n"
    "    previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    if [[ $subcommand == help ]]; then\n"
    "        _hbmstress_take < <(printf '%s\\n' $(_hbmstress_subcommands))\n"
    "        return\n"
    "    fi\n"
    "    if [[ $current == '=' ]]; then\n"
    "        current=''\n"
    "    elif [[ $previous == '=' ]]; then\n"
    "        previous=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    elif [[ $current == --*=* ]]; then\n"
    "        previous=${current%%=*} before=${current%%=*}= current=${current#*=}\n"
    "    elif [[ $current == -* ]]; then\n"
    "        _hbmstress_take < <(printf '%s\\n' $(_hbmstress_options \"$subcommand\"))\n"
    "        return\n"
    "    fi\n"
    "    source=$(_hbmstress_source \"$subcommand $previous\") || source=$(_hbmstress_source \"$subcommand \")\n"
    "    if [[ $source == ,* ]]; then\n"
    "        source=${source#,}\n"
    "        before+=${current%\"${current##*,}\"} current=${current##*,}\n"
    "    fi\n"
    "    read -r -a names <<<\"$source\"\n"
    "    for name in \"${names[@]}\"; do\n"
    "        case $name in\n"
    "        @files)\n"
    "            compopt -o filenames 2>/dev/null\n"
    "            _hbmstress_take < <(compgen -f -- \"$current\")\n"
    "            ;;\n"
    "        @directories)\n"
    "            compopt -o filenames 2>/dev/null\n"
    "            _hbmstress_take < <(compgen -d -- \"$current\")\n"
    "            ;;\n"
    "        @*) _hbmstress_take < <(_hbmstress_list \"${name#@}\") ;;\n"
    "        *) _hbmstress_take <<<\"$name\" ;;\n"
    "        esac\n"
    "    done\n"
    "}\n"
    "complete -F _hbmstress hbmstress\n";

void completion_bash(struct writing *text)
{
    writing_append(text, "# bash completion of hbmstress; made by hbmstress-manual.\n\n");
    writing_append(text, list_function);
    writing_append(text, "_hbmstress_subcommands() {\n    echo '");
    append_subcommand_names(text);
    writing_append(text, "'\n}\n\n_hbmstress_options() {\n    case $1 in\n");
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++) {
        append_bash_option_names(text, subcommands[i]);
    }
    writing_append(text, "    esac\n}\n\n"
                         "# What a word can be behind \"SUBCOMMAND OPTION\", or \"SUBCOMMAND \".\n"
                         "_hbmstress_source() {\n    case $1 in\n");
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++) {
        append_bash_sources(text, subcommands[i]);
    }
    writing_append(text, "    *) return 1 ;;\n    esac\n}\n\n");
    writing_append(text, bash_main);
}

/* --- zsh --- */

/* Appends words in single quotes, as a specification of _arguments. */
static void append_zsh(struct writing *text, const char *words)
{
    for (; *words != '\0'; words++) {
        if (*words == '\'') {
            writing_append(text, "'\\''");
            continue;
        }
        writing_append(text, strchr("[]:\\", *words) != NULL ? "\\" : "");
        writing_append_bytes(text, words, 1);
    }
}

static void append_zsh_option(struct writing *text, const char *name,
                              const struct option_row *option)
{
    const bool is_long = name[1] == '-';
    writing_append_format(text, "            '*%s%s[", name,
                          option->argument == NULL ? ""
                          : is_long                ? "="
                                                   : "+");
    append_zsh(text, option->help);
    writing_append(text, "]");
    if (option->argument != NULL) {
        writing_append(text, ":");
        append_zsh(text, option->argument);
        writing_append(text, ": _hbmstress_values ");
        append_source(text, option->argument);
    }
    writing_append(text, "' \\\n");
}

static void append_zsh_subcommand(struct writing *text, const struct subcommand *subcommand)
{
    const struct option_row *options[ARGUMENTS_ROW_COUNT_MAX];
    const size_t count = arguments_options(subcommand, options);
    writing_append_format(text, "    %s)\n        _arguments -S \\\n", subcommand->name);
    for (size_t i = 0; i < count; i++) {
        append_zsh_option(text, options[i]->name, options[i]);
        if (options[i]->alias != NULL) {
            append_zsh_option(text, options[i]->alias, options[i]);
        }
    }
    writing_append_format(text, "            '*:%s: _hbmstress_values ",
                          subcommand->word_count_max == 0 ? "nothing" : subcommand->word_name);
    append_word_source(text, subcommand);
    writing_append(text, "'\n        ;;\n");
}

static const char zsh_values[] =
    "# _hbmstress_values SOURCE ...\n"
    "_hbmstress_values() {\n"
    "    local name\n"
    "    local -a found\n"
    "    for name in \"$@\"; do\n"
    "        case $name in\n"
    "        ,) compset -P '*,' ;;\n"
    "        @files) _files ;;\n"
    "        @directories) _files -/ ;;\n"
    "        @*) found=(${(f)\"$(_hbmstress_list ${name#@})\"}); compadd -a found ;;\n"
    "        *) compadd -- $name ;;\n"
    "        esac\n"
    "    done\n"
    "}\n\n";

void completion_zsh(struct writing *text)
{
    writing_append(text, "#compdef hbmstress\n# Made by hbmstress-manual.\n\n");
    writing_append(text, list_function);
    writing_append(text, zsh_values);
    writing_append(text, "_hbmstress_subcommands() {\n    local -a names=(\n");
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++) {
        writing_append_format(text, "        '%s:", subcommands[i]->name);
        append_zsh(text, subcommands[i]->summary);
        writing_append(text, "'\n");
    }
    writing_append(text, "    )\n    _describe subcommand names\n}\n\n_hbmstress() {\n"
                         "    if ((CURRENT == 2)); then\n        _hbmstress_subcommands\n"
                         "        return\n    fi\n    local subcommand=$words[2]\n"
                         "    shift words\n    ((CURRENT--))\n    case $subcommand in\n"
                         "    help) _hbmstress_subcommands ;;\n");
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++) {
        append_zsh_subcommand(text, subcommands[i]);
    }
    writing_append(text, "    esac\n}\n\n_hbmstress \"$@\"\n");
}

/* --- fish --- */

static void append_fish(struct writing *text, const char *words)
{
    for (; *words != '\0'; words++) {
        writing_append(text, strchr("'\\", *words) != NULL ? "\\" : "");
        writing_append_bytes(text, words, 1);
    }
}

static void append_fish_option(struct writing *text, const struct subcommand *subcommand,
                               const struct option_row *option)
{
    writing_append_format(text, "complete -c hbmstress -n '__hbmstress_is %s' -l %s",
                          subcommand->name, option->name + 2);
    if (option->alias != NULL) {
        writing_append_format(text, " -s %s", option->alias + 1);
    }
    if (option->argument != NULL) {
        writing_append(text, " -x -a '(__hbmstress_values ");
        append_source(text, option->argument);
        writing_append(text, ")'");
    }
    writing_append(text, " -d '");
    append_fish(text, option->help);
    writing_append(text, "'\n");
}

static void append_fish_subcommand(struct writing *text, const struct subcommand *subcommand)
{
    const struct option_row *options[ARGUMENTS_ROW_COUNT_MAX];
    const size_t count = arguments_options(subcommand, options);
    writing_append_format(text, "complete -c hbmstress -n '__hbmstress_is' -a %s -d '",
                          subcommand->name);
    append_fish(text, subcommand->summary);
    writing_append_format(text,
                          "'\ncomplete -c hbmstress -n '__hbmstress_is %s' -a "
                          "'(__hbmstress_values ",
                          subcommand->name);
    append_word_source(text, subcommand);
    writing_append(text, ")'\n");
    for (size_t i = 0; i < count; i++) {
        append_fish_option(text, subcommand, options[i]);
    }
}

static const char fish_functions[] =
    "# Whether that is the subcommand; without a name: whether there is none yet.\n"
    "function __hbmstress_is\n"
    "    set -l words (commandline -opc)\n"
    "    test \"$words[2]\" = \"$argv[1]\"\n"
    "end\n\n"
    "function __hbmstress_values\n"
    "    set -l before ''\n"
    "    for name in $argv\n"
    "        switch $name\n"
    "            case ,\n"
    "                set before (commandline -ct | string replace -r '^--[^=]*=' '' | string match -r '.*,')\n"
    "            case @files\n"
    "                __fish_complete_path (commandline -ct | string replace -r '^--[^=]*=' '')\n"
    "            case @directories\n"
    "                __fish_complete_directories (commandline -ct | string replace -r '^--[^=]*=' '')\n"
    "            case '@*'\n"
    "                for found in (command hbmstress list (string sub -s 2 -- $name) 2>/dev/null | "
    "sed -n '/^[a-z]/{s/^[a-z]* *//;s/  .*//;p;}')\n"
    "                    echo $before$found\n"
    "                end\n"
    "            case '*'\n"
    "                echo $before$name\n"
    "        end\n"
    "    end\n"
    "end\n\n"
    "complete -c hbmstress -f\n"
    "complete -c hbmstress -n '__hbmstress_is' -a help -d 'print the options of a subcommand'\n";

static void append_fish_help(struct writing *text, const struct subcommand *subcommand)
{
    writing_append_format(text, "complete -c hbmstress -n '__hbmstress_is help' -a %s -d '",
                          subcommand->name);
    append_fish(text, subcommand->summary);
    writing_append(text, "'\n");
}

void completion_fish(struct writing *text)
{
    writing_append(text, "# fish completion of hbmstress; made by hbmstress-manual.\n\n");
    writing_append(text, fish_functions);
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++) {
        append_fish_subcommand(text, subcommands[i]);
        append_fish_help(text, subcommands[i]);
    }
}
