"""Reads what campaigns leave for those who review a change, as their services do: NAME.sarif, NAME.commands (workflow
commands of GitHub), NAME.gitlab (Code Quality).  Prints what is wrong, and exits with 1 then.

    read_reviews.py FILE ...

With HBMSTRESS_SARIF_SCHEMA=sarif-schema-2.1.0.json, and the package jsonschema, each SARIF document is validated, too."""

import importlib.util
import json
import os
import re
import sys
from urllib.parse import unquote, urlsplit

SCRIPT = "<script>alert(1)</script>\"'&|::error::x%0A"
failures = 0


def expect(path, holds, what):
    global failures
    if not holds:
        print(f"FAILED: {path}: {what}", file=sys.stderr)
        failures += 1


def is_harmless(text):
    """No control character but the ends of our own lines, no mark that reorders text."""
    return not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", text)


def texts_of(value):
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts_of(part)


def read_json(path):
    """As RFC 8259 has it: UTF-8, and no member twice."""
    def make_object(pairs):
        expect(path, len(dict(pairs)) == len(pairs), f"a member twice: {pairs}")
        return dict(pairs)
    return json.loads(open(path, "rb").read().decode("utf-8"), object_pairs_hook=make_object)


# --- SARIF ---

def check_location(path, location):
    place = location["physicalLocation"]
    uri = place["artifactLocation"]["uri"]
    expect(path, re.fullmatch(r"(file:///)?[A-Za-z0-9._~/-]*(%[0-9A-F]{2}[A-Za-z0-9._~/-]*)*", uri), f"the URI {uri}")
    expect(path, urlsplit(uri).scheme in ("", "file") and not unquote(uri).startswith("./"), f"the URI {uri}")
    expect(path, place.get("region", {"startLine": 1})["startLine"] >= 1, "a line below 1")


def check_result(path, result, rules):
    expect(path, result["level"] in ("error", "warning", "note"), f"level {result['level']}")
    expect(path, result["message"]["text"] != "", "a result without words")
    expect(path, result.get("baselineState") in (None, "new", "unchanged"), "baselineState")
    prints = set(result["partialFingerprints"].values())
    expect(path, len(prints) == 1 and re.fullmatch("[0-9a-f]{16}", min(prints)), "a fingerprint")
    if "ruleIndex" in result:
        expect(path, rules[result["ruleIndex"]]["id"] == result["ruleId"], f"the rule of {result['ruleId']}")
    related = result.get("relatedLocations", [])
    expect(path, [location["id"] for location in related] == list(range(len(related))), "ids of locations")
    for location in result.get("locations", []) + related:
        check_location(path, location)


def check_sarif(path):
    document = read_json(path)
    expect(path, document["version"] == "2.1.0" and len(document["runs"]) == 1, "no run of version 2.1.0")
    run = document["runs"][0]
    driver = run["tool"]["driver"]
    ids = [rule["id"] for rule in driver["rules"]]
    expect(path, driver["name"] == "hbmstress" and re.fullmatch(r"\d+\.\d+\.\d+(\+\d+\.g[0-9a-f]+)?", driver["version"]), "the tool")
    expect(path, len(set(ids)) == len(ids), "two rules of one id")
    for rule in driver["rules"]:
        expect(path, rule["shortDescription"]["text"] and rule["help"]["text"].startswith("docs/"), f"rule {rule['id']}")
    states = {"baselineState" in result for result in run["results"]}
    expect(path, len(states) < 2, "some results have a baselineState")
    prints = [result["partialFingerprints"]["signature/v1"] for result in run["results"]]
    expect(path, len(set(prints)) == len(prints), "two results of one fingerprint")
    for result in run["results"]:
        check_result(path, result, driver["rules"])
    for invocation in run["invocations"]:
        expect(path, invocation["executionSuccessful"] == (invocation["exitCode"] != 4), "the invocation")
    for text in texts_of(document):
        expect(path, is_harmless(text), f"control characters in {text!r}")
    return [result["message"]["text"] for result in run["results"]]


def validate(paths):
    schema = os.environ.get("HBMSTRESS_SARIF_SCHEMA", "")
    if not os.path.exists(schema) or importlib.util.find_spec("jsonschema") is None:
        print("skipped: no JSON Schema of SARIF in HBMSTRESS_SARIF_SCHEMA, or no python3-jsonschema")
        return
    import jsonschema
    validator = jsonschema.validators.validator_for(read_json(schema))(read_json(schema))
    for path in paths:
        for error in validator.iter_errors(read_json(path)):
            expect(path, False, f"schema: {'/'.join(map(str, error.path))}: {error.message}")
    # A schema that takes everything would prove nothing.
    broken = read_json(paths[0])
    broken["runs"][0]["results"] = [{"level": "grave"}]
    expect(paths[0], not validator.is_valid(broken), "the schema takes a result without a message")
    print(f"{len(paths)} SARIF documents are valid by their schema")


# --- GitHub ---

def unescape(text, escapes):
    for escape, byte in escapes:
        text = text.replace(escape, byte)
    return text


DATA = [("%0D", "\r"), ("%0A", "\n"), ("%25", "%")]
PROPERTY = [("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")]


def check_commands(path):
    """As the runner does: the command up to a blank, properties up to the next "::", then data."""
    messages = []
    for line in open(path, "rb").read().decode("utf-8").splitlines():
        expect(path, line.startswith("::"), f"no command: {line!r}")
        head, _, data = line[2:].partition("::")
        level, _, rest = head.partition(" ")
        properties = dict(pair.split("=", 1) for pair in rest.split(","))
        expect(path, level in ("error", "warning", "notice"), f"level {level}")
        expect(path, set(properties) <= {"file", "line", "title"} and properties["title"], f"properties {properties}")
        expect(path, int(properties.get("line", 1)) >= 1, "a line below 1")
        values = [unescape(value, PROPERTY) for value in properties.values()]
        message = unescape(data, DATA)
        expect(path, all(map(is_harmless, values + [message])), f"control characters in {line!r}")
        messages.append(message)
    return messages


# --- GitLab ---

def check_gitlab(path):
    issues = read_json(path)
    prints = [issue["fingerprint"] for issue in issues]
    expect(path, isinstance(issues, list) and len(set(prints)) == len(prints), "two issues of one fingerprint")
    for issue in issues:
        expect(path, set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}, f"members {issue}")
        expect(path, issue["severity"] in ("info", "minor", "major", "critical", "blocker"), issue["severity"])
        location = issue["location"]
        expect(path, location["path"] and not location["path"].startswith("./"), f"path {location['path']}")
        expect(path, location["lines"]["begin"] >= 1, "a line below 1")
        for text in texts_of(issue):
            expect(path, is_harmless(text), f"control characters in {text!r}")
    return [issue["description"] for issue in issues]


CHECKS = {".sarif": check_sarif, ".commands": check_commands, ".gitlab": check_gitlab}


def main():
    counts = {}
    for path in sys.argv[1:]:
        name, suffix = os.path.splitext(path)
        texts = CHECKS[suffix](path)
        counts.setdefault(os.path.basename(name), {})[suffix] = len(texts)
        if os.path.basename(name) == "hostile":
            expect(path, any(SCRIPT in text for text in texts), "the hostile tag is not there as text")
    for name, found in counts.items():
        asked = [found[suffix] for suffix in (".commands", ".gitlab") if suffix in found]
        expect(name, len(set(asked)) < 2, f"not as many in each form: {found}")
    documents = [path for path in sys.argv[1:] if path.endswith(".sarif")]
    if documents:
        validate(documents)
    sys.exit(failures > 0)


main()
