"""Builds the documentation's site: ``make docs``. Prepares the pages, runs the site's renderer, then checks what it built.

Runs in the environment of requirements/docs.txt. The renderer is known here only by its command and its configuration file, so
another one that reads mkdocs.yml can take its place.
"""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from scripts.docs_site import pages

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "mkdocs.yml"
REPOSITORY: str = runpy.run_path(str(ROOT / "src" / "vaultwire" / "distribution.py"))["REPOSITORY"]
# Where the site will be, with a slash at its end. Without it every link is relative.
SITE_URL = os.environ.get("VAULTWIRE_SITE_URL", "")
# What pages load from the site itself: where it lies in the packages of package.json, and in the site.
SCRIPTS = {
    "iframe-worker/shim/index.js": "assets/iframe-worker.js",
    "mermaid/dist/mermaid.min.js": "assets/mermaid.js",
}
# The theme would load it from a CDN. It has 3 MB, so only pages with a diagram load it.
_DIAGRAM, _DIAGRAM_SCRIPT = 'class="mermaid"', '<script src="assets/mermaid.js"></script>'


def main(workshop: Path, site: Path) -> int:
    """Build ``site``; the prepared pages and npm's packages are in ``workshop``. Return the exit code."""
    config = yaml.load(CONFIG.read_text(encoding="utf-8"), pages.ConfigLoader)  # noqa: S506 - a SafeLoader
    texts = prepare(config, workshop)
    shutil.rmtree(site, ignore_errors=True)
    command = [str(Path(sys.executable).with_name("zensical")), "build", "--strict", "--clean", "-f"]
    finished = subprocess.run([*command, str(write_config(workshop))], check=False)
    if finished.returncode:
        return finished.returncode
    shutil.move(workshop / "site", site)
    faults = []
    for path, text in texts.items():
        built = (site / path).with_suffix(".html")
        html = built.read_text(encoding="utf-8")
        faults += [f"{path}: {fault}" for fault in pages.differences(text, html)]
        if _DIAGRAM in html:
            html = html.replace("</head>", f"{_DIAGRAM_SCRIPT}</head>", 1)
        built.write_text(pages.keep_names_whole(html), encoding="utf-8")
    for path, there in pages.MOVED.items():
        (site / path).with_suffix(".html").write_text(pages.leading_on(there), encoding="utf-8")
    write_for_models(config, texts, site)
    print(*faults, f"The site is in {site}: open index.html in a browser, or put the folder on a web server.", sep="\n")
    return 1 if faults else 0


def prepare(config: dict[str, Any], workshop: Path) -> dict[str, str]:
    """Write the pages as the renderer wants them, and what they load. Return each page's text."""
    folder = workshop / "pages"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder)
    texts = {}
    titles = {path: title for _, title, path in pages.entries(config["nav"])}
    for _, _, path in pages.entries(config["nav"]):
        source = pages.source_of(path)
        texts[path] = pages.lead_elsewhere((ROOT / source).read_text(encoding="utf-8"), source, REPOSITORY)
        (folder / path).write_text(pages.for_renderer(texts[path], titles), encoding="utf-8")
    (folder / "assets").mkdir(exist_ok=True)
    for module, place in SCRIPTS.items():
        shutil.copyfile(workshop / "node" / "node_modules" / module, folder / place)
    shutil.copyfile(Path(__file__).with_name("site.css"), folder / "assets" / "site.css")
    return texts


def write_config(workshop: Path) -> Path:
    """Write the configuration of this build, which inherits mkdocs.yml."""
    path = workshop / "mkdocs.yml"
    own: dict[str, Any] = {
        "INHERIT": os.path.relpath(CONFIG, workshop),
        "docs_dir": "pages",
        "site_dir": "site",  # the renderer takes no other folder than one beside its configuration
        # As a link, not as "repo_url": for that the theme asks api.github.com for its stars.
        "extra": {"social": [{"icon": "fontawesome/brands/github", "link": REPOSITORY, "name": "Source"}]},
    }
    if SITE_URL:
        own["site_url"] = SITE_URL
    path.write_text(json.dumps(own, indent=1), encoding="utf-8")
    return path


def write_for_models(config: dict[str, Any], texts: dict[str, str], site: Path) -> None:
    """Write llms.txt, llms-full.txt and each page's Markdown."""
    for path, text in texts.items():
        (site / path).write_text(text, encoding="utf-8")
    index = pages.llms(config["site_name"], config["site_description"], config["nav"], texts, SITE_URL)
    (site / "llms.txt").write_text(index, encoding="utf-8")
    (site / "llms-full.txt").write_text("\n\n".join(texts.values()), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute()))
