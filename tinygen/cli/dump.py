"""A network on its way to C, as MLIR: four levels, and the graph after each pass that changed it."""

from dataclasses import dataclass, field

from tinygen.codegen.mlir import calls_text, plan_text
from tinygen.ir.graph import Graph
from tinygen.ir.mlir import print_graph
from tinygen.pipeline import AS_IN_FILE, Compiled


@dataclass
class Dump:
    """Collects what the passes make of a graph."""

    read: list[Graph] = field(default_factory=list)
    texts: list[tuple[str, str]] = field(default_factory=list)

    def observe(self, name: str, graph: Graph) -> None:
        """Keep the graph of the file, and the text after each pass, which has the types of constants alone."""
        if name == AS_IN_FILE:
            self.read.append(graph)
        else:
            self.texts.append((name, print_graph(graph)))

    def files(self, compiled: Compiled) -> dict[str, str]:
        """The levels, with all values; then the passes in their order, numbered, the imported graph first."""
        [as_in_file] = self.read
        levels = {
            "graph": print_graph(as_in_file, with_values=True),
            "quant": print_graph(compiled.graph, with_values=True),
            "plan": plan_text(compiled.schedule),
            "calls": calls_text(compiled.schedule),
        }
        texts = [("import", print_graph(compiled.imported)), *self.texts]
        passes = {f"{number:02}_{name}": text for number, (name, text) in enumerate(texts)}
        return {f"{name}.mlir": text for name, text in (levels | passes).items()}
