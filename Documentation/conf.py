# SPDX-License-Identifier: MIT
"""Sphinx configuration of `make doc` (html.sh)"""
import os

project = "tsctrace"
copyright = "2026 The tsctrace authors"
release = version = os.environ["TSCT_VERSION"]
html_theme = "alabaster"
html_theme_options = {"description": "events on one timeline, with its error bound",
                      "fixed_sidebar": True, "page_width": "1100px"}
html_sidebars = {"**": ["about.html", "navigation.html", "searchbox.html"]}
html_copy_source = False
html_last_updated_fmt = None
html_use_smartypants = False
pygments_style = "sphinx"
highlight_language = "none"
exclude_patterns = ["examples", "man", "netlink"]
