// Puts the modules of each view inside clients together into one script: a host shows a view in a frame without an origin, where
// an import finds nothing. Run by `make views-js`; the scripts are kept in git, because the wheel is built without npm.
// Its argument is the folder to write to.

const path = require("node:path");
const esbuild = require("esbuild");

const PACKAGE = path.join(__dirname, "..", "src", "vaultwire");
const PAGE = path.join(PACKAGE, "server", "apps", "page");
// A view asks its host, not a server, and it shows notes only as they are in a difference.
const INSTEAD = new Map([["api.js", "no_api.js"], ["views.js", "no_views.js"]]);

const standIns = {
  name: "stand-ins",
  setup(build) {
    build.onResolve({ filter: /^\.\/(api|views)\.js$/ }, ({ importer, path: name }) =>
      path.dirname(importer) === path.join(PACKAGE, "desk", "page") ? { path: path.join(PAGE, INSTEAD.get(path.basename(name))) } : undefined);
  },
};

esbuild.build({
  entryPoints: ["change", "graph", "search"].map((view) => path.join(PAGE, `${view}.js`)),
  outdir: process.argv[2],
  bundle: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  minify: true,
  legalComments: "inline",
  logLevel: "error",
  plugins: [standIns],
}).catch(() => process.exit(1));
