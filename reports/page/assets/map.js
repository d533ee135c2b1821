// map: what is in this file comes with its part.
"use strict";
