H=/work/wt/shard/build/warnings/cli/hbmstress
rm -rf single s-* merged
$H run --job $1 --seeds $2 --seed 1 $3 --out single >/dev/null 2>&1; echo single $?
for i in 1 2 3 4; do $H run --job $1 --seeds $2 --seed 1 $3 --shard $i/4 --out s-$i > /dev/null 2>&1; echo $?; done
$H merge s-1 s-2 s-3 s-4 --out merged >/dev/null 2>err; echo merge $?; cat err
find single -type f | sed s,single/,, | sort > a; find merged -type f | sed s,merged/,, | sort >b; diff a b
