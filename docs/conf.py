"""Settings of the site; `make docs` builds it into build/docs, without network, and warnings are errors."""

import os
import shutil
import sys
from pathlib import Path

import pppca_bench

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS / "_ext"))
# The tour runs the commands that belong to the interpreter of the build.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
# The tour shows a first run: its folder must be empty.
TOUR = DOCS.parent / "build" / "tour"
shutil.rmtree(TOUR, ignore_errors=True)
TOUR.mkdir(parents=True)

project = "pppca-bench"
author = "The pppca-bench developers"
copyright = author
version = release = pppca_bench.__version__

extensions = [
    "generated_pages",
    "myst_parser",
    "numpydoc",
    "sphinx_click",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.programoutput",
]
exclude_patterns = ["_ext", "examples", "**.ipynb"]
# Docstrings write names in single backquotes.
default_role = "literal"

html_theme = "furo"
html_title = f"pppca-bench {version}"
html_show_sphinx = False
html_copy_source = False
# The HTML report is a separate page.
html_extra_path = ["../results/report.html"]
html_static_path = ["_static"]
html_css_files = ["site.css"]

# Formulas are plain text, as in the docstrings: nothing is loaded from other sites to show them.
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4

autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
# All checks of numpydoc but four: text may begin beside the opening quotes (GL01); extended summaries (ES01), cross
# references (SA01) and examples (EX01) are optional.
numpydoc_validation_checks = {"all", "GL01", "ES01", "SA01", "EX01"}
# The fields of a dataclass are its constructor's parameters; they are documented once, under Attributes.
numpydoc_validation_overrides = {"PR01": [r"(?s)\A(?!.*\n *Parameters\n).*\n *Attributes\n *-"]}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "doc_module": (),
    "reference_url": {},
}

programoutput_prompt_template = "$ {command}\n{output}"
