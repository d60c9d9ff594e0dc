"""The graph on its way through the passes, as text files."""

from dataclasses import dataclass, field

from tinygen.ir.graph import Graph


@dataclass
class Dump:
    """Collects what the passes make of a graph."""

    texts: list[tuple[str, str]] = field(default_factory=list)

    def observe(self, name: str, graph: Graph) -> None:
        """Keep the text of the graph after the pass `name`."""
        self.texts.append((name, str(graph)))

    def files(self, imported: Graph) -> dict[str, str]:
        """Numbered files in the order of the passes, the imported graph first."""
        texts = [("import", str(imported)), *self.texts]
        return {f"{number:02}_{name}.mlir": f"{text.rstrip()}\n" for number, (name, text) in enumerate(texts)}
