"""How the documentation is built: `make docs`, strict, nothing fetched."""

from depthlaw import __version__

project = "depthlaw"
author = "the depthlaw authors"
copyright = "the depthlaw authors, Apache-2.0"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "paper_intro.md"]  # the introduction is part of paper.md

smartquotes_action = "q"  # quotes only: two dashes begin a flag
default_role = "literal"  # single backticks in docstrings are names, as in Markdown
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 90
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
suppress_warnings = ["ref.python"]  # attributes of several classes may share a name
napoleon_attr_annotations = False  # docstrings give shape and unit; the types of arrays are long

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_title = f"depthlaw {release}"
html_copy_source = False
html_show_sphinx = False


def _signature(app, what, name, obj, options, signature, returned):
    """Results are made by functions, not by hand: only settings and errors show how they are constructed."""
    if what == "class" and not name.endswith("Config"):
        return "", None
    return signature, returned


def setup(app):
    """Connect the above."""
    app.connect("autodoc-process-signature", _signature)
