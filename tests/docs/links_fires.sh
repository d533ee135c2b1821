#!/usr/bin/env bash
# The test of the links finds each kind of breach in a small tree, and nothing in a good one.
#
#     tests/docs/links_fires.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failure_count=0

# judges CODE TEXT: what the test prints of the tree, after writing the page a.md with what is on standard input.
judges() {
    local code=0 printed
    cat >"$tree/docs/a.md"
    printed=$("$here/links.py" "$tree") || code=$?
    [[ $code -eq $1 && $printed == *"$2"* ]] && return
    echo "FAILED: '$2' with $1 wanted, exit $code: $printed"
    failure_count=$((failure_count + 1))
}

mkdir -p "$tree/docs/more"
index='# Index\n\n[a.md](a.md)\n\n## Pages\n\n[a](a.md) [b](b.md)\n'
printf '# Top\n\n[docs](docs/README.md)\n' >"$tree/README.md"
printf '%b' "$index" >"$tree/docs/README.md"
# shellcheck disable=SC2016 # a heading with code in it
printf '# B, the `second` page\n\n## Twice\n\n## Twice\n\n[of all](more/c.md)\n' >"$tree/docs/b.md"
printf '# C\n' >"$tree/docs/more/c.md"

judges 0 'links: 5 pages, 10 links, 0 wrong' <<'PAGE'
# A
[b](b.md#b-the-second-page) [again](b.md#twice-1) ![here](#a) [`code`](../docs/b.md)
and `[no link](there.md)`, [elsewhere](https://example.org/x#y)
```text
[no link](there.md)
```
PAGE
judges 1 'docs/a.md:2: there.md: no such file' <<<$'# A\n[b](there.md)'
judges 1 'docs/a.md:2: there.md: no such file' <<<$'# A\n[broken\nline](there.md)'
judges 1 'docs/a.md:1: b.md#third: no such heading' <<<'[b](b.md#third)'
judges 1 'docs/a.md:1: #b: no such heading' <<<'[b](#b)'
judges 1 'docs/a.md:1: ../../x: leads out of the tree' <<<'[b](../../x)'
printf '# D\n' >"$tree/docs/more/d.md"
judges 1 'docs/more/d.md: no link leads there' <<<'# A'
rm "$tree/docs/more/d.md"
printf '%b' "${index/\[b\](b.md)/}" >"$tree/docs/README.md"
judges 1 'docs/README.md: names docs/b.md 0 times, not once' <<<'# A'
printf '%b' "${index}[b](b.md)" >"$tree/docs/README.md"
judges 1 'docs/README.md: names docs/b.md 2 times, not once' <<<'# A'
printf '%b' "$index" >"$tree/docs/README.md"
printf '# Where\nversion 1.2.3\naddress https://example.org/x\n' >"$tree/VERSION"
printf '# Top\n\n[docs](docs/README.md)\n\n<https://example.org/x>, `v1.2.3`\n' >"$tree/README.md"
judges 0 ' 0 wrong' <<<'# A'
sed -i 's/1.2.3/1.2.4/' "$tree/VERSION"
judges 1 'README.md: does not show `v1.2.4` of VERSION' <<<'# A'
echo "links_fires: $failure_count failures"
[[ $failure_count -eq 0 ]]
