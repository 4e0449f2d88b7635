"""Patterns of the parser mean the same in Pythons whose possessive quantifiers are faulty."""

import subprocess
import sys

import pytest

from vaultwire.markdown.patterns import with_atomic_groups

_EVERY_MODULE = """
import pkgutil, importlib, re, sys, typing
ours, sys.version_info = sys.version_info, (3, 11, 4)
from vaultwire.markdown import patterns
sys.version_info = ours
assert patterns.IS_FAULTY
import vaultwire.markdown, vaultwire.vault
for package in (vaultwire.markdown, vaultwire.vault):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        found = vars(importlib.import_module(module.name))
        for name, value in found.items():
            if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                if patterns.with_atomic_groups(value.pattern) != value.pattern:
                    print(module.name, name)
"""


@pytest.mark.parametrize(
    ("pattern", "atomic"),
    [
        (r"(?:a|b)*+", r"(?>(?:a|b)*)"),
        (r"((?:a)++b){2,}+", r"(?>((?>(?:a)+)b){2,})"),
        (r"[)*+]*+\)*+x?+", r"[)*+]*+\)*+x?+"),
        (r"[^]()]++(?:\[)?+", r"[^]()]++(?>(?:\[)?)"),
    ],
)
def test_a_possessive_quantifier_after_a_group_becomes_an_atomic_group(pattern: str, atomic: str) -> None:
    assert with_atomic_groups(pattern) == atomic


def test_no_module_compiles_a_possessive_group_in_another_way() -> None:
    result = subprocess.run([sys.executable, "-c", _EVERY_MODULE], capture_output=True, text=True, check=True)
    assert not result.stdout
