"""Patches in their three notations."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foldaway.facts.effects.effect import Effect, effects_of_patch

ENVELOPE = """*** Begin Patch
*** Update File: src/a.py
@@ def f():
-    return 1
+    return "*** Delete File: not.this"
*** Add File: docs/new file.md
+# Title
+--- a/x
++++ b/x
*** Delete File: old.txt
*** Update File: was.py
*** Move to: is.py
@@
-x
+y
*** Update File: only/moved.py
*** Move to: here/moved.py
*** End Patch
"""
GIT = """diff --git a/src/a.py b/src/a.py
index 111..222 100644
--- a/src/a.py
+++ b/src/a.py
@@ -1,3 +1,4 @@
 x
+y
@@ -40,2 +41,5 @@ def f():
 z
diff --git a/new.py b/new.py
new file mode 100644
--- /dev/null
+++ b/new.py
@@ -0,0 +1,2 @@
+a
+b
diff --git a/gone.py b/gone.py
deleted file mode 100644
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-a
diff --git a/was.py b/is.py
similarity index 100%
rename from was.py
rename to is.py
diff --git a/pic.png b/pic.png
new file mode 100644
Binary files /dev/null and b/pic.png differ
"""
UNIFIED = """--- old/x.c\t2024-01-01 00:00:00
+++ new/x.c\t2024-01-02 00:00:00
@@ -3,2 +3,3 @@
 a
--- b
+++ c
--- /dev/null
+++ b/y.c
@@ -0,0 +1 @@
+a
"""
PATHS = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp")), min_size=1)


def test_an_envelope_names_its_files() -> None:
    """Headers count only at the beginning of a line; a move is a rename behind its change."""
    assert effects_of_patch(ENVELOPE) == (
        Effect("change", "src/a.py"),
        Effect("create", "docs/new file.md"),
        Effect("delete", "old.txt"),
        Effect("change", "was.py"),
        Effect("rename", "was.py", to="is.py"),
        Effect("rename", "only/moved.py", to="here/moved.py"),
    )


def test_a_git_diff_names_its_files() -> None:
    """Created, deleted, renamed and binary files are told from the headers."""
    assert effects_of_patch(GIT) == (
        Effect("change", "src/a.py"),
        Effect("create", "new.py"),
        Effect("delete", "gone.py"),
        Effect("rename", "was.py", to="is.py"),
        Effect("create", "pic.png"),
    )


def test_a_unified_diff_names_its_files() -> None:
    """A header is two lines before a hunk; lines of content that look alike are none."""
    assert effects_of_patch(UNIFIED) == (Effect("change", "new/x.c"), Effect("create", "y.c"))


def test_a_patch_with_carriage_returns_is_the_same_patch() -> None:
    """Line ends make no difference."""
    for patch in (ENVELOPE, GIT, UNIFIED):
        assert effects_of_patch(patch.replace("\n", "\r\n")) == effects_of_patch(patch)


def test_text_that_is_no_patch_has_no_effects() -> None:
    """Rules, lists and prose with the same signs name no files."""
    assert effects_of_patch("--- a\n\n+++ b\n* * *\n*** bold ***\n--- x\n+++ y\nno hunk") == ()
    assert effects_of_patch("") == ()


@given(st.lists(PATHS, max_size=5, unique=True))
def test_every_file_of_an_envelope_is_found(paths: list[str]) -> None:
    """One effect for each header, in order, with the path as written."""
    body = "".join(f"*** Add File: {path}\n+x\n" for path in paths)
    found = effects_of_patch(f"*** Begin Patch\n{body}*** End Patch")
    assert [effect.path for effect in found] == paths
