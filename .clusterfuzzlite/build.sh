#!/usr/bin/env bash
exec "$SRC/hbmstress/fuzz/build.sh"
