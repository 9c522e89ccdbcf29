"""The notebook of examples/python runs, and shows the page of its report."""

import os
from pathlib import Path

from needs import needs

NOTEBOOK = Path(__file__).parents[2] / "examples/python/notebook.ipynb"


def test_the_notebook_runs():
    nbclient, nbformat = needs("nbclient"), needs("nbformat")
    needs("nvcc")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "commit it without its outputs"
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pages = [output["data"]["text/html"] for output in shown if "data" in output]
    assert len(pages) == 1 and "data-race" in pages[0] and "<iframe srcdoc=" in pages[0]
    text = "".join(output.get("text", "") for output in shown)
    assert "error data-race [(" in text and "every-schedule ('reverse(int*, int)',)" in text
    if folder := os.environ.get("RACETRAP_PAGES"):
        Path(folder, "notebook.html").write_text(pages[0])
