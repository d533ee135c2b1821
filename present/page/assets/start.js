// The last script: everything is there.
"use strict";
for (const part of hbmstress.parts) {
  part();
}
